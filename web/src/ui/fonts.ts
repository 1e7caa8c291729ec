/** The one font, from the bundle: text is as wide on every screen as the layout measured it. */
import bold from "../../../src/opscope/render/fonts/OpscopeSans-Bold.woff2";
import regular from "../../../src/opscope/render/fonts/OpscopeSans-Regular.woff2";
import { fromBase64 } from "../core/base/base64";
import { FONT_FAMILY } from "../core/text/advances";

const FACES = [
  [regular, "400"],
  [bold, "600"],
] as const;

/** Loads the font into a document or a worker, once. */
export async function loadFonts(into: FontFaceSet): Promise<void> {
  await Promise.all(
    FACES.map(async ([base64, weight]) => {
      const isLoaded = [...into].some((face) => face.family.replaceAll('"', "") === FONT_FAMILY && face.weight === weight);
      if (!isLoaded) into.add(await new FontFace(FONT_FAMILY, fromBase64(base64), { weight }).load());
    }),
  );
}

/** The same font, for pictures that are saved. */
export function fontCss(): string {
  const face = (base64: string, weight: string): string =>
    `@font-face{font-family:"${FONT_FAMILY}";font-weight:${weight};src:url(data:font/woff2;base64,${base64}) format("woff2")}`;
  return FACES.map(([base64, weight]) => face(base64, weight)).join("");
}
