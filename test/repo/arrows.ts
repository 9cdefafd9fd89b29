import { posix } from 'node:path';
import { Visitor, parseSync } from 'oxc-parser';
import { ACTORS, PG, ROOMS } from './rooms.ts';
import type { LargeRoom } from './rooms.ts';
import { lineOf } from './sources.ts';
import type { Source } from './sources.ts';

/** The check of a file: its place, and its permitted imports. */
interface Limits {
  /** Matches the files that may import each other. */
  readonly files: RegExp;
  /** Other files of ours. */
  readonly ours: readonly RegExp[];
  /** Packages; all if absent. */
  readonly packages?: readonly string[];
}

const inside = (room: string) => new RegExp(`^src/${room}(/|\\.ts$)`);

const LIMITS: readonly Limits[] = ROOMS.map(({ name, may, packages, files }) => ({
  files: files ?? inside(name),
  ours: may.map(({ files }) => files),
  ...(packages && { packages }),
}));

/** Nothing imports the composition root, nor another program. */
const UNIMPORTED = [
  /^src\/main\.ts$/,
  ...ROOMS.filter((room) => room.isProgram).map(({ name }) => inside(name)),
];

/** Files shared by drivers. */
const KIT = /^src\/adapters\/driver-kit\//;
const SHARES_KIT = /^src\/adapters\/(provider|balancer)\//;

/** A table of drivers is the one place that knows them all. */
const driversOf = (kind: string): Limits => ({
  files: new RegExp(`^src/adapters/${kind}/drivers\\.ts$`),
  ours: [
    new RegExp(`^src/adapters/${kind}/(port|[a-z][a-z0-9-]*/driver)\\.ts$`),
    /^src\/settings\//,
  ],
});
const DRIVERS = ['provider', 'balancer'].map(driversOf);

/** Imports inside a large room: its entries (`pg-bmdb.ts`, `provide.ts`, …) may import every folder. */
function mayImportInside({ path: top, base, rooms }: LargeRoom, path: string, resolved: string) {
  if (!path.startsWith(top) || !resolved.startsWith(top)) return true;
  const [file, target] = [path.slice(top.length), resolved.slice(top.length)];
  const isBase = (name: string) => base.some((each) => name === `${each}.ts`);
  if (isBase(file)) return isBase(target);
  if (!file.includes('/') || isBase(target)) return true;
  const [own = '', other = ''] = [file, target].map((name) => name.split('/')[0]);
  return own === other || (rooms[own]?.may ?? []).includes(other);
}

/** In the adapters' room each folder is its own room, and so is each driver's folder. */
function adapterLimits(path: string): Limits | undefined {
  const folder = /^src\/adapters\/(?:(?:provider|balancer)\/)?[^/]+(?=\/)/.exec(path)?.[0];
  if (folder === undefined) return undefined;
  const table = DRIVERS.find(({ files }) => files.test(path));
  if (table) return table;
  const ours = ROOMS.find(({ name }) => name === 'adapters')!
    .may.filter(({ from }) => from?.test(path) ?? true)
    .map(({ files }) => files);
  const kit = SHARES_KIT.test(folder) ? [KIT] : [];
  return { files: new RegExp(`^${folder}/`), ours: [...ours, ...kit] };
}

const limitsOf = (path: string): Limits | undefined =>
  adapterLimits(path) ?? LIMITS.find(({ files }) => files.test(path));

/** `file:line` and the forbidden text there. */
type Violation = string;

/** Imports against the arrows. Files outside all rooms may import everything but programs and tests. */
export function importViolations({ path, text }: Source): Violation[] {
  const limits = limitsOf(path);
  return importsOf(path, text)
    .filter((each) => !mayImport(limits, path, each))
    .map(({ target, offset }) => `${path}:${lineOf(text, offset)} imports ${target}`);
}

/** The product loads nothing of the simulated world at its start. */
const isLoadedWithProduct = (path: string, resolved: string, isLazy: boolean) =>
  path.startsWith('src/') &&
  resolved.startsWith('emulators/') &&
  !(path === 'src/main.ts' && isLazy);

function mayImport(limits: Limits | undefined, path: string, { target, isLazy }: Import): boolean {
  const own = target.startsWith('.');
  const resolved = own ? posix.join(posix.dirname(path), target) : target;
  if (resolved.startsWith('test/')) return false;
  if (![ACTORS, PG].every((room) => mayImportInside(room, path, resolved))) return false;
  if (limits?.files.test(resolved)) return true;
  const isArrow = limits?.ours.some((allowed) => allowed.test(resolved));
  if (!isArrow && isLoadedWithProduct(path, resolved, isLazy)) return false;
  if (!isArrow && UNIMPORTED.some((files) => files.test(resolved))) return false;
  if (!limits) return true;
  if (!own) return limits.packages?.includes(target) ?? true;
  return limits.ours.some((allowed) => allowed.test(resolved));
}

interface Import {
  readonly target: string;
  readonly offset: number;
  /** Loaded when needed. */
  readonly isLazy: boolean;
}

/** Static, dynamic and type imports, and re-exports. */
function importsOf(path: string, text: string): Import[] {
  const found: Import[] = [];
  const see = (source: { type: string; value?: unknown; start: number } | null, isLazy = false) => {
    if (source && typeof source.value === 'string') {
      found.push({ target: source.value, offset: source.start, isLazy });
    }
  };
  new Visitor({
    ImportDeclaration: (node) => see(node.source),
    ExportAllDeclaration: (node) => see(node.source),
    ExportNamedDeclaration: (node) => see(node.source),
    ImportExpression: (node) => see(node.source, true),
    TSImportType: (node) => see(node.source),
  }).visit(parse(path, text));
  return found;
}

function parse(path: string, text: string) {
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message ?? 'does not parse'}`);
  return program;
}
