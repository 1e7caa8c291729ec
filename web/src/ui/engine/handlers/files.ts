/** Files of the picture, and parts with too much for one frame. */
import { compose, draw, FILE, SEEN } from "../../../core/picture";
import { onPaper, THEMES } from "../../../core/scene/theme";
import { sceneToSvg } from "../../../core/writers/svg";
import { fontCss, loadFonts } from "../../fonts";
import { picture as paint, png as encode } from "../pictures";
import type { Handler } from "./handler";

export const picture: Handler<"picture"> = async (state, request, { transfer }) => {
  await fonts();
  const bitmap = paint(state.shown.painter, request);
  transfer.push(bitmap);
  return bitmap;
};

export const png: Handler<"png"> = async (state, { theme, background, part }) => {
  await fonts();
  return encode(state.shown.painter, onPaper(THEMES[theme], background), part);
};

/** The picture as shown, with its legend; or the same view as `opscope export` draws it. */
export const svg: Handler<"svg"> = ({ shown }, { theme, background, as }) => {
  const { program, request, spec } = shown;
  const { scene } =
    as === "file"
      ? draw(program, { ...request, spec, reveal: undefined, room: undefined, fill: undefined, columns: undefined, ...FILE })
      : compose(shown, { ...request, ...SEEN });
  return sceneToSvg(scene, onPaper(THEMES[theme], background), { fontCss: fontCss(), title: program.name });
};

let loading: Promise<void> | undefined;

/** In a worker, fonts have to be loaded before they can be drawn with. */
function fonts(): Promise<void> {
  const { fonts: faces } = globalThis as unknown as { fonts?: FontFaceSet };
  loading ??= faces ? loadFonts(faces) : Promise.resolve();
  return loading;
}
