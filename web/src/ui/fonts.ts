/** The one font, from the bundle: text is as wide on every screen as the layout measured it. */
import bold from "../../../src/opscope/render/fonts/OpscopeSans-Bold.woff2";
import regular from "../../../src/opscope/render/fonts/OpscopeSans-Regular.woff2";
import { FONT_FAMILY } from "../core/text/advances";

const FACES = [
  [regular, "400"],
  [bold, "600"],
] as const;

/** Loads the font into a document or a worker, once. */
export async function loadFonts(into: FontFaceSet): Promise<void> {
  await Promise.all(
    FACES.map(async ([bytes, weight]) => {
      const isLoaded = [...into].some((face) => face.family.replaceAll('"', "") === FONT_FAMILY && face.weight === weight);
      if (!isLoaded) into.add(await new FontFace(FONT_FAMILY, bytes.buffer, { weight }).load());
    }),
  );
}

/** The same font, for pictures that are saved. */
export function fontCss(): string {
  return FACES.map(([bytes, weight]) => {
    let text = "";
    for (let i = 0; i < bytes.length; i += 4096) text += String.fromCharCode(...bytes.subarray(i, i + 4096));
    return `@font-face{font-family:"${FONT_FAMILY}";font-weight:${weight};src:url(data:font/woff2;base64,${btoa(text)}) format("woff2")}`;
  }).join("");
}
