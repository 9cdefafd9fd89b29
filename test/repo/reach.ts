import { Visitor } from 'oxc-parser';
import { parse, type Violation } from './arrows.ts';
import { lineOf, type Source } from './sources.ts';

/** What reaches for time, chance or the world past the ports, so that virtual time would not hold. */

/** Rooms that play or touch the world: nothing here is checked. */
const WORLDLY = /^(src\/(adapters|agent)|emulators)\//;

/**
 * Rooms that see the world by ports alone; the others may read files and listen, as programs, the
 * configuration and the console do.
 */
const BY_PORTS = /^src\/(domain|machines|actors|daemon|conformance)\//;

/** Files in these rooms that reach for the world; each with the reason. */
const WORLDLY_FILES: Readonly<Record<string, string>> = {
  'src/daemon/real-ports.ts': 'gives daemons the real world',
  'src/daemon/agent-thread.ts': 'is a thread of its own in the real world',
  'src/daemon/ssh-keys.ts': 'names this computer in the keys of the real world',
  'src/daemon/check.ts': 'looks at files before any daemon is started',
};

/** Where the real time of streams may be chosen. */
const CHOOSES_TIME = /^src\/(commands\/|main\.ts$|daemon\/real-ports\.ts$)/;

const CLOCK = 'take a Clock';
const CHANCE = 'take a Random';
const PORT = 'take a port';

/** Globals that may not be called. */
const CALLS: Readonly<Record<string, string>> = {
  Date: CLOCK,
  setTimeout: CLOCK,
  setInterval: CLOCK,
  setImmediate: CLOCK,
};
const CALLS_TO_WORLD: Readonly<Record<string, string>> = {
  fetch: PORT,
  WebSocket: PORT,
  EventSource: PORT,
};
/** What of a global may not be used; `*`: nothing of it. */
const MEMBERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Date: { now: CLOCK },
  performance: { '*': CLOCK },
  AbortSignal: { timeout: CLOCK },
  Math: { random: CHANCE },
  crypto: { randomUUID: CHANCE, getRandomValues: CHANCE },
  process: { hrtime: CLOCK, uptime: CLOCK },
  globalThis: { '*': PORT },
};
const PROCESS =
  'argv cwd env exit geteuid getuid kill nextTick on once pid platform stdin stdout stderr';
const MEMBERS_OF_WORLD: typeof MEMBERS = {
  process: Object.fromEntries(PROCESS.split(' ').map((name) => [name, PORT])),
};

/** Modules that are nothing but time. */
const MODULES: Readonly<Record<string, string>> = {
  'node:timers': CLOCK,
  'node:timers/promises': CLOCK,
  'node:perf_hooks': CLOCK,
};
/** Of `node:crypto`, what draws. */
const DRAWS = /^(random|generate|getRandomValues|webcrypto$|createDiffieHellman$)/;
/** Packages of rooms that see the world by ports; others might reach for it. */
const PURE_PACKAGES = [
  'xstate',
  'rxjs',
  'zod',
  'tinyqueue',
  'p-limit',
  'fast-xml-builder',
  'node:crypto',
];

/** Operators and sources that keep a time of their own unless they are given a scheduler. */
const TIMED =
  /^(timer|interval|debounceTime|throttleTime|auditTime|sampleTime|delay|bufferTime|windowTime|timeout|timeoutWith|timestamp|timeInterval)$/;
const REAL_SCHEDULERS = /^(async|asap|animationFrame)Scheduler$|^animationFrames$/;

/** Adapters that daemons are made of whatever the world: without I/O of their own. */
const PURE_ADAPTERS =
  /^(\.\.\/)+adapters\/(.+\/port|agents\/takeover-protocol|driver-kit\/(fleet-provider|calls|orders|looks|creation|stand-ins|redaction))\.ts$/;

interface Node {
  readonly type: string;
  readonly start: number;
  readonly name?: string;
  readonly value?: unknown;
}

/** All that a file reaches for past the ports. */
export function reachViolations({ path, text }: Source): Violation[] {
  if (WORLDLY.test(path)) return [];
  const isByPorts = BY_PORTS.test(path) && WORLDLY_FILES[path] === undefined;
  const found: Violation[] = [];
  const tell = ({ start }: Pick<Node, 'start'>, what: string, instead: string) =>
    void found.push(`${path}:${lineOf(text, start)} uses ${what}: ${instead}`);
  /** Names that came from RxJS and from XState, by the name they have here. */
  const timed = new Map<string, string>();
  const creators = new Set<string>();
  const calls = isByPorts ? { ...CALLS, ...CALLS_TO_WORLD } : CALLS;

  function seeMember(object: Node, property: Node) {
    if (object.type !== 'Identifier' || object.name === undefined) return;
    const name = property.name ?? String(property.value);
    const ours = ownOf(MEMBERS, object.name);
    const worlds = isByPorts ? ownOf(MEMBERS_OF_WORLD, object.name) : undefined;
    const instead = ownOf(ours, name) ?? ownOf(ours, '*') ?? ownOf(worlds, name);
    if (instead !== undefined) tell(object, `${object.name}.${name}`, instead);
  }

  function seeCall(callee: Node, given: readonly Node[]) {
    const { name = '' } = callee;
    if (callee.type !== 'Identifier') return;
    const instead = ownOf(calls, name);
    if (instead !== undefined && !(name === 'Date' && given.length > 0)) {
      tell(callee, `${name}()`, instead);
    }
    const operator = timed.get(name);
    if (operator !== undefined && !given.some((each) => givesOf(text, each, /scheduler$/i))) {
      tell(callee, `${operator} without a scheduler`, CLOCK);
    }
    if (creators.has(name) && !given.some((each) => givesOf(text, each, /^clock$/))) {
      tell(callee, 'createActor without a clock', CLOCK);
    }
  }

  function seeImport(node: ImportNode) {
    const from = node.source.value;
    const values = node.specifiers.filter(({ importKind }) => importKind !== 'type');
    if (node.importKind === 'type' || (node.specifiers.length > 0 && values.length === 0)) return;
    const instead = MODULES[from] ?? MODULES[`node:${from}`];
    if (instead !== undefined) tell(node, from, instead);
    const isOwn = from.startsWith('.');
    if (isByPorts && instead === undefined && !isOwn && !PURE_PACKAGES.includes(from)) {
      tell(node, from, PORT);
    }
    if (isByPorts && /\/adapters\//.test(from) && !PURE_ADAPTERS.test(from)) tell(node, from, PORT);
    for (const { local, imported } of values) {
      const name = imported?.name ?? '*';
      if (from === 'node:crypto' && (name === '*' || DRAWS.test(name))) tell(node, name, CHANCE);
      if (from === 'xstate' && name === 'createActor') creators.add(local.name);
      if (!/^rxjs(\/|$)/.test(from)) continue;
      if (name === '*' || (REAL_SCHEDULERS.test(name) && !CHOOSES_TIME.test(path))) {
        tell(node, `${name} of rxjs`, CLOCK);
      }
      if (TIMED.test(name)) timed.set(local.name, name);
    }
  }

  const see = (node: { callee: unknown; arguments: readonly unknown[] }) =>
    seeCall(node.callee as Node, node.arguments as Node[]);
  const program = parse(path, text);
  new Visitor({ ImportDeclaration: (node) => seeImport(node as unknown as ImportNode) }).visit(
    program,
  );
  new Visitor({
    CallExpression: see,
    NewExpression: see,
    MemberExpression: (node) => seeMember(node.object as Node, node.property as Node),
    ImportExpression: (node) => {
      if (isByPorts) tell(node, 'import()', PORT);
    },
  }).visit(program);
  return found;
}

/** The files that are excused, for a test that each of them is there. */
export const excused: readonly string[] = Object.keys(WORLDLY_FILES);

interface ImportNode extends Node {
  readonly source: { readonly value: string };
  readonly importKind?: string;
  readonly specifiers: readonly {
    readonly importKind?: string;
    readonly local: { readonly name: string };
    readonly imported?: { readonly name: string };
  }[];
}

/** What the table says of a name; not what every object has. */
const ownOf = <Value>(table: Readonly<Record<string, Value>> | undefined, name: string) =>
  table && Object.hasOwn(table, name) ? table[name] : undefined;

/** Whether an argument is called so, or is an object with such a key. */
function givesOf(text: string, node: Node, key: RegExp): boolean {
  const { properties = [], end } = node as Node & {
    readonly properties?: readonly { readonly key?: Node }[];
    readonly end: number;
  };
  if (node.type !== 'ObjectExpression') return key.test(text.slice(node.start, end));
  return properties.some((each) => each.key?.name !== undefined && key.test(each.key.name));
}
