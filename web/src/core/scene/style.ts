/** The colours of an item in a theme: those of its category, or custom ones, with text that can be read on them. */
import { legible } from "../base/colour";
import { memoized } from "../base/memoized";
import type { Paint, Theme } from "./theme";
import { type CustomPaint, type Scene, Shape } from "./types";

export interface ItemStyle {
  readonly fill: string;
  readonly stroke: string;
  readonly text: string;
  readonly secondary: string;
  readonly accent: string;
}

/** The colours of a box, a stack or a pill. */
export function boxStyle(scene: Scene, theme: Theme, item: number): ItemStyle {
  const base = theme.paints[scene.paint[item]];
  const custom = scene.custom[item];
  return custom < 0 ? plainStyle(theme, base) : customStyle(scene.customs[custom], theme, base);
}

/** The colours of an open group; frames of one depth share a tint. */
export function frameStyle(scene: Scene, theme: Theme, item: number): ItemStyle {
  const base = framePaints(theme)[scene.depth[item] % theme.frames.length];
  const custom = scene.custom[item];
  return custom < 0 ? plainStyle(theme, base) : customStyle(scene.customs[custom], theme, base);
}

export function itemStyle(scene: Scene, theme: Theme, item: number): ItemStyle {
  return scene.shape[item] === Shape.Frame ? frameStyle(scene, theme, item) : boxStyle(scene, theme, item);
}

/** The custom colour of an edge, or undefined. */
export function edgeColour(scene: Scene, theme: Theme, edge: number): string | undefined {
  const shade = scene.edgeShade[edge];
  return shade < 0 ? undefined : scene.edgeShades[shade][theme.name];
}

const framePaints = memoized((theme: Theme): readonly Paint[] => theme.frames.map((fill) => ({ fill, stroke: theme.frameStroke })));

function plainStyle(theme: Theme, { fill, stroke, secondary }: Paint): ItemStyle {
  return { fill, stroke, text: theme.text, secondary: secondary ?? theme.secondary, accent: theme.accent };
}

const customStyles = memoized((theme: Theme) =>
  memoized((custom: CustomPaint) =>
    memoized((base: Paint): ItemStyle => {
      const fill = custom.fill?.[theme.name] ?? base.fill;
      const ink = custom.text?.[theme.name];
      return {
        fill,
        stroke: custom.stroke?.[theme.name] ?? base.stroke,
        text: ink ?? legible(fill, theme.text),
        secondary: ink ?? legible(fill, base.secondary ?? theme.secondary, theme.text),
        accent: ink ?? legible(fill, theme.accent, theme.text),
      };
    }),
  ),
);

function customStyle(custom: CustomPaint, theme: Theme, base: Paint): ItemStyle {
  return customStyles(theme)(custom)(base);
}
