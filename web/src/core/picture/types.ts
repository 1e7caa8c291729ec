/** What a picture is asked for, what comes of it, and what the place where it is drawn adds. */
import type { Painter } from "../scene/painter";
import type { Theme } from "../scene/theme";
import type { Halves } from "../base/halves";
import type { CompoundLayout, LayoutCache } from "../layout";
import type { ProgramData, ViewSpec, Visible } from "../program/types";
import type { ViewOptions } from "../program/viewOptions";
import type { Colours, Scene } from "../scene";
import type { Size } from "../base/camera";

/** Everything that decides how a picture looks. Screen and file differ in these fields and in nothing else. */
export interface PictureRequest {
  readonly spec: ViewSpec;
  readonly rankdir?: ViewOptions["rankdir"];
  /** Expand the groups around a node until it is visible, or until the group around it at this level is (1: the outermost). */
  readonly reveal?: { readonly node: number; readonly level?: number } | undefined;
  /** Collapse groups until the picture is readable in this many pixels. */
  readonly room?: Size | undefined;
  /** Expand groups as long as the picture is readable in this many pixels. */
  readonly fill?: Size | undefined;
  /** Draw frames that contain only one other frame as one. For pictures that are not interactive. */
  readonly mergeFrames?: boolean;
  /** Break the picture into columns; "page": if it is too long and thin to read on one page; "screen": if it is too deep to scroll through. */
  readonly wrap?: boolean | "page" | "screen";
  /** Columns that a picture is broken into if it is longer than broad; by default, `wrap` says. A picture that fills a screen chooses it. */
  readonly columns?: number | undefined;
  /** Give the nodes that `spec` names a strong border. */
  readonly emphasis?: boolean;
  /** Draw the legend and the remarks below the graph. */
  readonly legend?: boolean;
  /** Colours of the boxes and edges instead of those of the categories. */
  readonly colours?: (visible: Visible) => Colours;
}

/** A picture in a file: nobody can click in it or scroll it, and it must explain itself. */
export const FILE: Partial<PictureRequest> = { mergeFrames: true, wrap: "page", emphasis: true, legend: true };
/** A picture on a screen, where each frame can be closed and the page has the legend. */
export const SCREEN: Partial<PictureRequest> = { mergeFrames: false, wrap: "screen", emphasis: false, legend: false };

/** A file of what is on a screen. */
export const SEEN: Partial<PictureRequest> = { ...SCREEN, legend: true };

/** Boxes with their places. */
export interface Arrangement {
  readonly program: ProgramData;
  readonly request: PictureRequest;
  /** The request's spec with what was opened and unfolded to reveal a node and closed to fit the screen: asked again, it gives the same boxes. */
  readonly spec: ViewSpec;
  readonly visible: Visible;
  readonly layout: CompoundLayout;
  /** Two halves are always laid out downwards, whatever was asked for. */
  readonly direction: "TB" | "LR";
  /** Forward and backward, if they are side by side. */
  readonly halves: Halves | undefined;
  readonly opened: readonly string[];
  readonly unfolded: readonly string[];
  readonly closed: readonly string[];
  /** Columns that were chosen to fill the screen. */
  readonly columns?: number;
  /** The box that shows what was to be revealed, or -1. */
  readonly revealed: number;
  /** Which boxes were in the picture before, where another program is shown now. */
  readonly stayed: Stayed | undefined;
  readonly viewMs: number;
  readonly layoutMs: number;
}

export interface Picture extends Arrangement {
  readonly scene: Scene;
}

/** What a view keeps of the one before. */
export interface Stayed {
  /** The box before that each is, or -1. */
  readonly box: Int32Array;
  /** Where that is now which had this key before, or undefined. */
  locate(key: string): number | undefined;
}

/** What the place where a picture is drawn gives besides the program. */
export interface DrawContext {
  /** Clock in milliseconds (V8 without a browser has no `performance`). */
  readonly now?: () => number;
  readonly progress?: (part: number, stage: string) => void;
  readonly cache?: LayoutCache;
  /** The picture before this one: a layout of the same boxes is used again, and what stays in a large one keeps its place. */
  readonly before?: Arrangement | undefined;
  /** Which boxes were in the picture before, where that was of another program. */
  readonly stayed?: ((visible: Visible) => Stayed | undefined) | undefined;
}

/** What a panel shows, for a file. */
export interface PanelPicture {
  readonly width: number;
  readonly height: number;
  readonly paint: (painter: Painter, theme: Theme) => void;
}
