/**
 * The four families of graphs that the layout is measured on, made to any size from a seed. Each is
 * {width, height, source, target, parent, groupCount}: boxes 0…n-1 sit in groups n…n+groupCount-1 (parent of box or group,
 * -1 at the top).
 */

/** A small generator of random numbers, so that every run sees the same graphs. */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

class Builder {
  constructor() {
    this.labels = [];
    this.boxGroup = [];
    this.source = [];
    this.target = [];
    this.groupParent = [];
    this.open = -1;
  }

  get size() {
    return this.labels.length;
  }

  group(content) {
    const before = this.open;
    this.groupParent.push(before);
    this.open = this.groupParent.length - 1;
    const result = content();
    this.open = before;
    return result;
  }

  op(label, ...inputs) {
    const id = this.labels.length;
    this.labels.push(label);
    this.boxGroup.push(this.open);
    for (const input of inputs) {
      this.source.push(input);
      this.target.push(id);
    }
    return id;
  }

  parameter(label) {
    return this.op(label);
  }

  done(name) {
    const n = this.size;
    return {
      name,
      width: this.labels.map((l) => 28 + 7 * l.length),
      height: this.labels.map((l) => (l.startsWith("p.") || l.startsWith("c.") ? 22 : 36)),
      labels: this.labels,
      source: this.source,
      target: this.target,
      groupCount: this.groupParent.length,
      parent: [...this.boxGroup.map((g) => (g < 0 ? -1 : n + g)), ...this.groupParent.map((g) => (g < 0 ? -1 : n + g))],
    };
  }
}

function normalized(b, x) {
  return b.group(() => {
    const mean = b.op("reduce_mean", x);
    const centred = b.op("subtract", x, mean);
    const variance = b.op("reduce_var", centred);
    const scaled = b.op("multiply", centred, b.op("rsqrt", variance));
    return b.op("add", b.op("multiply", scaled, b.parameter("p.gamma")), b.parameter("p.beta"));
  });
}

function attention(b, x, mask) {
  return b.group(() => {
    const heads = ["q", "k", "v"].map((name) => {
      const projected = b.op(`dot_${name}`, x, b.parameter(`p.w_${name}`));
      return b.op("transpose", b.op("reshape", projected));
    });
    const scores = b.op("add_mask", b.op("scores", heads[0], heads[1]), mask);
    const top = b.op("reduce_max", scores);
    const powers = b.op("exp", b.op("subtract", scores, top));
    const weights = b.op("divide", powers, b.op("reduce_sum", powers));
    const context = b.op("context", weights, heads[2]);
    return b.op("dot_out", b.op("reshape", b.op("transpose", context)), b.parameter("p.w_o"));
  });
}

function feedForward(b, x) {
  return b.group(() => {
    const up = b.op("add", b.op("dot_up", x, b.parameter("p.w_up")), b.parameter("p.b_up"));
    const gate = b.op("multiply", up, b.op("logistic", up));
    return b.op("add", b.op("dot_down", gate, b.parameter("p.w_down")), b.parameter("p.b_down"));
  });
}

function decoder(b, nodes) {
  const mask = b.parameter("c.mask");
  let x = b.op("embedding", b.parameter("p.tokens"), b.parameter("p.table"));
  const layers = [];
  while (b.size < nodes) {
    const first = b.size;
    x = b.group(() => {
      const attended = b.op("add", x, attention(b, normalized(b, x), mask));
      return b.op("add", attended, feedForward(b, normalized(b, attended)));
    });
    layers.push([first, b.size]);
  }
  const logits = b.op("dot_logits", normalized(b, x), b.parameter("p.head"));
  return { layers, logits };
}

export function transformer(nodes) {
  const b = new Builder();
  const { logits } = decoder(b, nodes);
  b.op("softmax", logits);
  return b.done("transformer");
}

/** The forward half, then for each of its ops in reverse order one that reads the gradient and what was kept. */
export function training(nodes) {
  const b = new Builder();
  const { layers, logits } = decoder(b, nodes * 0.47);
  const forwardEnd = b.size;
  const users = Array.from({ length: forwardEnd }, () => []);
  for (let e = 0; e < b.source.length; e++) users[b.source[e]].push(b.target[e]);
  const gradient = new Map();
  gradient.set(logits, b.op("loss_grad", logits));
  const layerOf = new Int32Array(forwardEnd).fill(-1);
  layers.forEach(([from, to], i) => layerOf.fill(i, from, to));
  let at = forwardEnd - 1;
  while (at >= 0) {
    const layer = layerOf[at];
    const backward = () => {
      for (; at >= 0 && layerOf[at] === layer; at--) {
        if (at === logits) continue;
        const label = b.labels[at];
        const incoming = users[at].map((u) => gradient.get(u)).filter((g) => g !== undefined);
        if (incoming.length === 0 || label === "c.mask") continue;
        let g = incoming[0];
        for (const more of incoming.slice(1)) g = b.op("add_any", g, more);
        const kept = /^(dot|mul|exp|div|sub|scores|context|logistic|rsqrt)/.test(label) ? [at] : [];
        gradient.set(at, b.op(`d_${label}`, g, ...kept));
      }
    };
    if (layer >= 0) b.group(backward);
    else backward();
  }
  return b.done("training");
}

export function resnet(nodes, seed = 1) {
  const b = new Builder();
  const chance = random(seed);
  const unit = (x, label) =>
    b.group(() => {
      const convolved = b.op(label, x, b.parameter("p.weight"));
      const scale = ["p.scale", "p.shift", "p.mean", "p.var"].map((p) => b.parameter(p));
      return b.op("batch_norm", convolved, ...scale);
    });
  let x = b.op("max_pool", b.op("relu", unit(b.op("input"), "conv7x7")));
  while (b.size < nodes) {
    x = b.group(() => {
      let y = x;
      const depth = chance() < 0.5 ? 2 : 3;
      for (let i = 0; i < depth; i++) {
        y = unit(y, i === 1 ? "conv3x3" : "conv1x1");
        if (i + 1 < depth) y = b.op("relu", y);
      }
      const shortcut = chance() < 0.25 ? unit(x, "conv1x1") : x;
      return b.op("relu", b.op("add", y, shortcut));
    });
  }
  b.op("softmax", b.op("dot", b.op("avg_pool", x), b.parameter("p.fc")));
  return b.done("resnet");
}

/** Like a module before fusion: local chains, values used again far away, and constants that very many ops read. */
export function hlo(nodes, seed = 7) {
  const b = new Builder();
  const chance = random(seed);
  const labels = ["add", "multiply", "subtract", "dot", "reduce", "transpose", "reshape", "broadcast", "exp", "select", "convert"];
  const constants = Array.from({ length: Math.max(3, Math.round(Math.sqrt(nodes) / 5)) }, () => b.parameter("c.const"));
  const far = [];
  const pick = (list) => list[Math.floor(chance() * list.length)];
  while (b.size < nodes) {
    const content = () => {
      const length = 12 + Math.floor(chance() * 60);
      const recent = [far.length ? pick(far) : b.parameter("p.arg")];
      for (let i = 0; i < length && b.size < nodes; i++) {
        const roll = chance();
        if (roll < 0.12) {
          recent.push(b.parameter("p.arg"));
          continue;
        }
        const inputs = new Set();
        const count = roll < 0.4 ? 1 : roll < 0.85 ? 2 : 3;
        for (let k = 0; k < count; k++) {
          const where = chance();
          if (where < 0.1) inputs.add(pick(constants));
          else if (where < 0.16 && far.length > 0) inputs.add(far[far.length - 1 - Math.floor(chance() ** 2 * far.length)]);
          else inputs.add(recent[recent.length - 1 - Math.floor(chance() ** 1.5 * Math.min(recent.length, 16))]);
        }
        recent.push(b.op(pick(labels), ...inputs));
      }
      far.push(recent[recent.length - 1]);
      if (chance() < 0.5) far.push(pick(recent));
    };
    if (chance() < 0.9) b.group(content);
    else content();
  }
  return b.done("hlo");
}

export const families = { transformer, training, resnet, hlo };
