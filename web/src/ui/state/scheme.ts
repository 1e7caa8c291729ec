/** Light or dark: as the person chose, else as the system is set. */
import { THEMES, type Theme } from "../../core/scene/theme";

export type ThemeChoice = "light" | "dark" | "auto";

export class Scheme {
  private readonly system = window.matchMedia("(prefers-color-scheme: dark)");

  constructor(
    private chosen: ThemeChoice,
    private readonly changed: () => void,
  ) {
    this.system.addEventListener("change", changed);
  }

  get theme(): Theme {
    const dark = this.chosen === "dark" || (this.chosen === "auto" && this.system.matches);
    return THEMES[dark ? "dark" : "light"];
  }

  get choice(): ThemeChoice {
    return this.chosen;
  }

  choose(choice: ThemeChoice): void {
    this.chosen = choice;
    this.changed();
  }

  dispose(): void {
    this.system.removeEventListener("change", this.changed);
  }
}
