/**
 * The input and output of the layout. Everything is a typed array indexed by box or edge, so that 100,000 boxes cost
 * megabytes, not objects, and can be passed between threads.
 *
 * Coordinates: y grows downwards, edges run downwards (direction "LR" is the same layout with the axes swapped at the end).
 */

/** One container's content: boxes with sizes, and edges between them. */
export interface FlatGraph {
  readonly nodeCount: number;
  readonly width: Float64Array;
  readonly height: Float64Array;
  readonly edgeSource: Int32Array;
  readonly edgeTarget: Int32Array;
  /**
   * Where along the bottom/top border the edge leaves/enters, as an offset from the centre of the box. NaN: wherever
   * it fits best. Absent: the centre.
   */
  readonly sourcePort?: Float64Array;
  readonly targetPort?: Float64Array;
  /** 1: a number at the head says which operand this edge is, so that its target port may change places with others. */
  readonly loosePorts?: Uint8Array;
  /** 1: this edge closes a loop, so it is the one that runs against the ranks. */
  readonly closes?: Uint8Array;
  /** How many edges of the program each represents: in a cycle, as few as possible run against the ranks. Absent: one each. */
  readonly weight?: Int32Array;
  /** 0 free, 1 pinned to the first rank (a border input), 2 pinned to the last rank (a border output). */
  readonly pin?: Uint8Array;
  /** The x of a box in an earlier layout (NaN: new). Boxes that stayed keep their order. */
  readonly previousX?: Float64Array;
  /** For pinned boxes: the order along the border that suits the outside (NaN: any). */
  readonly boundaryPortOrder?: Float64Array;
  /** Where boxes and edges were in a drawing of the same content: a start to improve or, if it has ranks, to keep. */
  readonly start?: Places;
}

export interface Places {
  /** Centres of the boxes. */
  readonly x: Float64Array;
  /** The x at which each edge passes ranks vertically (NaN: it passes none). */
  readonly across: Float64Array;
  readonly rank?: Int32Array;
}

export interface FlatLayout extends Places {
  readonly width: number;
  readonly height: number;
  readonly y: Float64Array;
  readonly rank: Int32Array;
  /** 1 where an edge runs against the ranks (a cycle was broken there). */
  readonly reversed: Uint8Array;
  /** Polyline of edge e: points[2*pointStart[e]] … points[2*pointStart[e+1]-1], from source port to target port. */
  readonly points: Float64Array;
  readonly pointStart: Int32Array;
  /** The number of edge crossings; 0 where the graph is too large to count them. */
  readonly crossings: number;
  /** The number of boxes whose operands do not enter in their order. */
  readonly outOfOrder: number;
}

/** Across the flow: where boxes began (left, or top for "LR"), and how wide they were. NaN: a box is new. */
export interface PreviousPlaces {
  readonly x: Float64Array;
  readonly width: Float64Array;
}

/**
 * Boxes in boxes. A box with `container` = 1 is an open group whose children are laid out inside it; every other box is a
 * leaf (an operation, a collapsed group, a stub). Edges join any two boxes; an end that is an open container stops at its frame.
 */
export interface CompoundGraph {
  readonly boxCount: number;
  /** Containing box, or -1 at the top. A parent may come before or after its children. */
  readonly parent: Int32Array;
  readonly container: Uint8Array;
  /** Leaf: its size. Container: the minimum width for its title, and (height) the height of its title line. */
  readonly width: Float64Array;
  readonly height: Float64Array;
  readonly edgeSource: Int32Array;
  readonly edgeTarget: Int32Array;
  /** Place along the border as a fraction 0…1 (left to right); NaN: wherever it fits best. */
  readonly sourcePort: Float32Array;
  readonly targetPort: Float32Array;
  /** 1: its target port may change places with others (see FlatGraph). */
  readonly edgeLoose?: Uint8Array | undefined;
  /**
   * The value that an edge carries: edges with the same number leave their source together, cross a group's border through
   * one boundary port, and fan out late. -1: alone.
   */
  readonly edgeValue: Int32Array;
  /** 1: this edge closes a loop (see FlatGraph). */
  readonly edgeCloses?: Uint8Array;
  /** How many edges of the program an edge represents (see FlatGraph). */
  readonly edgeWeight?: Int32Array;
  /** Where the same boxes were in an earlier layout. */
  readonly previous?: PreviousPlaces | undefined;
}

export interface CompoundLayout {
  readonly width: number;
  readonly height: number;
  /** Top-left corners and sizes, absolute. */
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly w: Float64Array;
  readonly h: Float64Array;
  readonly reversed: Uint8Array;
  readonly points: Float64Array;
  readonly pointStart: Int32Array;
  /** 1: an edge leads too far to be a line. It has two points, its ends. Absent: none does. */
  readonly far?: Uint8Array;
  /** How many containers were laid out, and how many came from the cache. */
  readonly laidOut: number;
  readonly reused: number;
}

export interface LayoutOptions {
  readonly direction?: "TB" | "LR";
  /** Gaps between neighbours in a rank, and between ranks. */
  readonly nodeGap?: number;
  readonly rankGap?: number;
  /** Inside a container's frame. */
  readonly padding?: number;
  /** Called now and then with 0…1; throw from it to cancel. */
  readonly progress?: (done: number) => void;
}
