/** Answers the page's questions about one program. Everything that takes time happens here, away from the page. */
import { HANDLERS } from "./handlers";
import type { Handler, Progress } from "./handlers/handler";
import type { Answer, Method, Params } from "./protocol";
import { EngineState } from "./state";

export class Engine {
  private readonly state = new EngineState();

  async answer<M extends Method>(method: M, params: Params<M>, progress: Progress, transfer: Transferable[]): Promise<Answer<M>> {
    const handler: Handler<M> = HANDLERS[method];
    return handler(this.state, params, { progress, transfer });
  }
}
