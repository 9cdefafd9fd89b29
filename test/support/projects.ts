import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

/*
 * Assigns each test file to a project. A file that `NIGHT` names is `night`. Any other file is
 * `virtual` when neither the file nor its imports from `test/` open a socket, start a process or
 * take real time. The rest is `real`.
 */
export const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Slow files, files that need foreign clients, and files that follow documents. They run at night
 * only. Every change still runs each port's contract at one real peer, races, access, and attacks
 * by strangers.
 */
const NIGHT = [
  'test/{bench,clients,e2e,machine,packages}/**',
  'test/faults/**/!(oracle|tcp-proxy).test.ts',
  'test/**/*.browser.test.ts',
  // A whole fleet for each of many faults. The simulation strikes at random in every run.
  'test/actors/crash-isolation.test.ts',
  // Days of a fleet in virtual time; `npm run simulate -- --month` plays more.
  'test/simulation/month.test.ts',
  'test/actors/balancing/{engine-calls,engine-vectors,haproxy-vectors,killed-haproxy}.test.ts',
  'test/adapters/balancer/haproxy/{at-once,faults,left-behind,together,traffic}.test.ts',
  // Tests of many rows or large files.
  'test/machines/scale.test.ts',
  'test/adapters/bmdb/pg/{bad-database,deprovision-storm,guard-counts,jitter,plans}.test.ts',
  'test/adapters/bmdb/schema/{harm,throw-away}.test.ts',
  'test/adapters/bmdb/{differential.test.ts,embedded/**}',
  'test/adapters/ssh/sshd-{compressed,upload}.test.ts',
  'test/adapters/agents/strangers.test.ts',
  'test/adapters/provider/{fuzzed-replies,toy}.test.ts',
  'test/agent/{agent-executable,agent-process}.test.ts',
  'test/agent/install/generic-image.test.ts',
  'test/commands/{db-show,lb/test,provider-test}.test.ts',
  'test/deploy/install-document.test.ts',
  'test/repo/install.test.ts',
];
/** Emulators on sockets. A fault in an emulator also breaks its driver's tests. */
const NIGHT_IF_REAL = ['test/{conformance,emulators}/**'];
/** Whole fleets for an hour, by commands of their own: `npm run test:failover`, `test:upgrade`. */
const LONG = ['test/failover/**'];

/** Modules that reach the outside world, with their harmless names. */
const DOORS: Readonly<Record<string, RegExp>> = {
  'node:child_process': /^$/,
  'node:cluster': /^$/,
  'node:dgram': /^$/,
  'node:http': /^(METHODS|STATUS_CODES|validateHeader(Name|Value))$/,
  'node:http2': /^constants$/,
  'node:https': /^$/,
  'node:net': /^(isIP|isIPv4|isIPv6|BlockList|SocketAddress)$/,
  'node:perf_hooks': /^$/,
  'node:timers': /^$/,
  'node:timers/promises': /^setImmediate$/,
  'node:tls': /^(checkServerIdentity|createSecureContext|rootCertificates)$/,
  'node:worker_threads': /^$/,
  '@grpc/grpc-js': /^$/,
  pg: /^$/,
  'playwright-core': /^$/,
  ssh2: /^$/,
  ws: /^$/,
};
/** Functions that reach the outside world when called. */
const STARTERS: readonly ((file: string, name: string) => boolean)[] = [
  (_file, name) => name === 'systemClock',
  (file) => file === 'src/adapters/balancer/haproxy/files.ts',
  (_file, name) => name === 'runProgram',
  (file) => /^src\/agent\/(host-programs|reboot|system)\.ts$/.test(file),
  (file) => file === 'src/commands/remote/output.ts',
  (file) => file === 'src/commands/provider-test.ts',
  (file) => file === 'src/commands/remote/client.ts',
  (file, name) => /^(emulators|src\/console)\//.test(file) && name.startsWith('start'),
];
/** HTTP servers and clients over this network open no sockets. */
const NETWORK_IN_MEMORY = 'test/doubles/memory-network.ts';
/**
 * Globals and vitest functions that take or measure real time, or open a socket. Today's date is
 * allowed, because worlds may start with it.
 */
const CALLS =
  /(?<![.\w'`])(setTimeout|setInterval|fetch|performance\.now|process\.hrtime|vi\.waitFor|vi\.waitUntil|expect\.poll)\((?!.*\)(: .+)? \{$|.*\): .+;$)/gm;

/** Imports and re-exports of values, as the formatter writes them. */
const IMPORTS = /^(?:import|export) (?!type\b)(?:([^'"`;]*?) from )?'([^']+)';$/gm;
const DYNAMIC_IMPORTS = /(?<!typeof )\bimport\(\s*'([^']+)',?\s*\)(?![.\w])/g;

/** What a file imports or re-exports: names of values, and `*` for whole modules. */
export function valuesImported(text: string): { from: string; names: readonly string[] }[] {
  const fixed = [...text.matchAll(IMPORTS)].map(([, clause, from]) => ({
    ...{ from: from!, names: clause === undefined ? [WHOLE] : namesOf(clause) },
  }));
  const lazy = [...text.matchAll(DYNAMIC_IMPORTS)].map(([, from]) => ({
    ...{ from: from!, names: [WHOLE] },
  }));
  return [...fixed, ...lazy].filter(({ names }) => names.length > 0);
}

interface ImportScan {
  /** Files under `test/` that are imported. */
  readonly imports: readonly string[];
  /** Ways to the outside world that the file itself uses. */
  readonly doors: readonly string[];
}

/** What a file of `test/` imports, and how it reaches the outside world itself. */
export function readingOf(path: string, text: string): ImportScan {
  const imports: string[] = [];
  const doors = new Set([...text.matchAll(CALLS)].map(([, called]) => `${called}()`));
  const overNetwork = new Set<string>();
  const see = (from: string, names: readonly string[]) => {
    if (!from.startsWith('.')) {
      const harmless = Object.hasOwn(DOORS, from) ? DOORS[from] : undefined;
      if (!harmless || names.every((name) => harmless.test(name))) return;
      (from === 'node:http' ? overNetwork : doors).add(from);
      return;
    }
    const target = posix.join(posix.dirname(path), from);
    if (names.some((name) => STARTERS.some((each) => each(target, name)))) overNetwork.add(target);
    if (/^test\/.*\.(ts|mjs)$/.test(target)) imports.push(target);
  };
  for (const { from, names } of valuesImported(text)) see(from, names);
  const isInMemory = imports.includes(NETWORK_IN_MEMORY);
  return { imports, doors: isInMemory ? [...doors] : [...doors, ...overNetwork] };
}
/** Stands for all names of a module. */
const WHOLE = '*';

/** Names of values in an import clause, before `as`; a default or `*` counts as a name. */
const namesOf = (clause: string): string[] =>
  clause
    .split(/[{},]/)
    .map((name) => name.trim().split(' as ')[0]!)
    .filter((name) => name !== '' && !name.startsWith('type '));

/** How a test file reaches the outside world: chain of imports and way out. Null: it does not. */
export type ImportPath = readonly string[] | null;

/** Finds test files' ways to the outside world; reads each file once. */
export function createFinder(read: (path: string) => string | null) {
  const readings = new Map<string, ImportScan>();
  const readingFor = (path: string): ImportScan => {
    const known = readings.get(path);
    if (known) return known;
    const text = read(path);
    const reading = text === null ? { imports: [], doors: [] } : readingOf(path, text);
    readings.set(path, reading);
    return reading;
  };
  return function wayOf(file: string): ImportPath {
    const cameFrom = new Map<string, string | null>([[file, null]]);
    for (const path of cameFrom.keys()) {
      const { imports, doors } = readingFor(path);
      if (doors.length > 0) return [...chainTo(path, cameFrom), doors[0]!];
      for (const each of imports) if (!cameFrom.has(each)) cameFrom.set(each, path);
    }
    return null;
  };
}

function chainTo(path: string, cameFrom: ReadonlyMap<string, string | null>): string[] {
  const chain: string[] = [];
  for (let at: string | null = path; at !== null; at = cameFrom.get(at) ?? null) chain.unshift(at);
  return chain;
}

/** Null: a test's text names a file that does not exist. */
function readFile(path: string): string | null {
  const file = join(root, path);
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
}

export type ProjectName = 'virtual' | 'real' | 'night' | 'long';

/** All test files of this tree by project. */
export function filesByProject(): Readonly<Record<ProjectName, readonly string[]>> {
  const files = globSync('test/**/*.test.ts', { cwd: root }).toSorted();
  const night = new Set(globSync(NIGHT, { cwd: root }));
  const long = new Set(globSync(LONG, { cwd: root }));
  const nightIfReal = new Set(globSync(NIGHT_IF_REAL, { cwd: root }));
  const wayOf = createFinder(readFile);
  const found: Record<ProjectName, string[]> = { virtual: [], real: [], night: [], long: [] };
  for (const file of files) {
    const isReal = wayOf(file) !== null;
    if (long.has(file)) found.long.push(file);
    else if (night.has(file) || (isReal && nightIfReal.has(file))) found.night.push(file);
    else found[isReal ? 'real' : 'virtual'].push(file);
  }
  return found;
}
