/** The selection: facts for the details panel, and which boxes are highlighted. */
import { emphasisOf } from "./canvas/marks";
import { Cancelled } from "./engine/client";
import type { ChainStep, EdgeFacts, GradientFacts, GroupFacts, NodeFacts, OutputFacts } from "./engine/protocol";
import type { Session } from "./session";
import { outputOf, RESULT } from "../core/view/choose/keys";
import { ALL } from "./state/view";

export class About {
  node: NodeFacts | undefined;
  group: GroupFacts | undefined;
  output: OutputFacts | undefined;
  edge: EdgeFacts | undefined;
  gradient: GradientFacts | undefined;
  chain: readonly ChainStep[] = [];

  constructor(private readonly session: Session) {}

  clear(): void {
    this.node = this.group = this.output = this.edge = this.gradient = undefined;
    this.chain = [];
  }

  /** Asks for the facts of the item that was selected last. */
  async loadSelected(item: number | undefined): Promise<void> {
    const { shown, timeline } = this.session;
    this.gradient = this.edge = this.output = undefined;
    this.chain = [];
    if (item === undefined || !shown) {
      this.clear();
      void timeline.follow(undefined);
      return;
    }
    const node = shown.result.node[shown.scene.box[item]];
    if (node >= 0) await this.loadNode(node, outputOf(shown.keyOf(item)));
    else if (shown.keyOf(item) === RESULT) await this.loadOutput();
    else await this.loadGroup(shown.keyOf(item));
  }

  async loadNode(node: number, output?: number): Promise<void> {
    const { session } = this;
    try {
      const facts = await session.ask("node", { node, output });
      this.node = facts;
      this.group = this.output = undefined;
      void session.timeline.follow(facts);
      this.gradient = output === undefined ? await session.ask("gradient", { node }) : undefined;
      const [a, b, ...more] = session.selectedNodes;
      this.chain = b !== undefined && more.length === 0 ? await session.ask("chain", { from: a, to: b }) : [];
      session.changed();
    } catch (error) {
      if (!(error instanceof Cancelled)) session.say(String((error as Error).message));
    }
  }

  async loadEdge(edge: number): Promise<void> {
    const facts = await this.session.ask("edge", { edge }).catch(() => undefined);
    if (this.session.stage?.chosenEdge !== edge) return;
    this.clear();
    this.edge = facts;
    this.session.changed();
  }

  private async loadOutput(): Promise<void> {
    this.output = await this.session.ask("output", {}).catch(() => undefined);
    this.node = this.group = undefined;
    void this.session.timeline.follow(undefined);
    this.session.changed();
  }

  private async loadGroup(key: string): Promise<void> {
    this.group = await this.session.ask("group", { key }).catch(() => undefined);
    this.node = undefined;
    void this.session.timeline.followGroup(this.group);
    this.session.changed();
  }

  /** Highlights what is upstream and downstream of the selection, or what belongs to its gradient. */
  async highlight(): Promise<void> {
    const { shown, stage, view, selectedNodes: nodes } = this.session;
    if (!shown || !stage) return;
    let mark: Uint8Array | undefined;
    if (nodes.length > 0 && (view.upstream > 0 || view.downstream > 0)) {
      const limit = (hops: number) => (hops >= ALL ? shown.result.boxOfNode.length : hops);
      const traced = await this.session
        .ask("trace", { nodes, up: limit(view.upstream), down: limit(view.downstream) })
        .catch(() => undefined);
      if (!traced || this.session.shown !== shown) return;
      mark = traced.mark;
    } else if (view.related) mark = this.gradient?.mark;
    if (!mark && !stage.emphasis) return;
    stage.emphasis = mark && emphasisOf(shown, mark);
    stage.draw();
  }
}
