import { posix } from 'node:path';
import { Visitor, parseSync } from 'oxc-parser';
import { lineOf } from './sources.ts';
import type { Source } from './sources.ts';

/** A room of `src/`, or one system's folder in `adapters/`. */
interface Room {
  /** Matches the files of the room. */
  readonly files: RegExp;
  /** Which other files of ours it may import. */
  readonly ours: readonly RegExp[];
  /** Which packages it may import; all when absent. */
  readonly packages?: RegExp;
}

const inside = (room: string) => new RegExp(`^src/${room}/`);
const PORTS = /^src\/adapters\/.+\/port\.ts$/;
const SHARED_PORTS = /^src\/adapters\/(clock|log|metrics)\/port\.ts$/;
/** Hosts are proved in one way, by the fleet and by the test of its drivers. */
const HOST_KEY_PROOF = /^src\/actors\/tasks\/host-key-proof\.ts$/;
const NOTHING = /(?!)/;

/** The arrows, as docs/ARCHITECTURE.md draws them. A room may always import itself. */
const ROOMS: readonly Room[] = [
  { files: inside('domain'), ours: [], packages: NOTHING },
  { files: inside('wire'), ours: [] },
  { files: inside('settings'), ours: [inside('domain')] },
  { files: inside('machines'), ours: [inside('domain')], packages: /^xstate$/ },
  { files: inside('actors'), ours: [inside('domain'), inside('machines'), PORTS] },
  { files: inside('console'), ours: [inside('domain'), inside('machines'), PORTS] },
  {
    files: inside('conformance'),
    ours: [inside('domain'), inside('settings'), PORTS, HOST_KEY_PROOF],
  },
  { files: inside('agent'), ours: [inside('wire')] },
  { files: inside('simulator'), ours: [inside('domain'), inside('wire')] },
  {
    files: /^src\/config(\/|\.ts$)/,
    ours: [inside('domain'), inside('settings'), /^src\/adapters\/provider\/(port|drivers)\.ts$/],
  },
];

/** What drivers share. */
const KIT = /^src\/adapters\/provider\/kit\//;

/** The table of drivers is the one place that knows them all. */
const DRIVERS: Room = {
  files: /^src\/adapters\/provider\/drivers\.ts$/,
  ours: [/^src\/adapters\/provider\/(port|[a-z][a-z0-9-]*\/driver)\.ts$/],
};

const PG = 'src/adapters/bmdb/pg/';
/** What every room of the database on PostgreSQL is built on. */
const PG_BASE: readonly string[] = [
  'eligibility',
  'errors',
  'delete-tags',
  'live',
  'pool',
  'repeat',
  'settings',
  'sql',
  'statement',
];
/** Which of its neighbours a room of the database on PostgreSQL may import. */
const PG_ROOMS: Readonly<Record<string, readonly string[]>> = {
  claims: [],
  guard: [],
  requests: [],
  heartbeats: [],
  reading: ['guard', 'requests'],
  people: ['guard', 'reading', 'requests'],
  provisioning: ['reading'],
  recovery: ['claims', 'guard', 'reading', 'requests'],
  tasks: ['claims', 'guard', 'reading', 'recovery'],
};

/** Imports inside the database on PostgreSQL: its entries (`pg-bmdb.ts`, …) may import every room. */
function mayImportInPg(path: string, resolved: string): boolean {
  const room = path.startsWith(PG) ? path.slice(PG.length) : '';
  const target = resolved.startsWith(PG) ? resolved.slice(PG.length) : '';
  if (room === '' || target === '') return true;
  const isBase = PG_BASE.some((name) => target === `${name}.ts`);
  const [own = ''] = room.split('/');
  const [other = ''] = target.split('/');
  if (PG_BASE.some((name) => room === `${name}.ts`)) return isBase;
  return !room.includes('/') || isBase || own === other || (PG_ROOMS[own] ?? []).includes(other);
}

/** Each adapter is a room of its own: its system's port, and its own folder. */
function adapterRoom(path: string): Room | undefined {
  const folder = /^src\/adapters\/(?:provider\/)?[^/]+(?=\/)/.exec(path)?.[0];
  if (folder === undefined) return undefined;
  if (DRIVERS.files.test(path)) return DRIVERS;
  const ours = [
    inside('domain'),
    inside('wire'),
    inside('settings'),
    SHARED_PORTS,
    /^src\/adapters\/provider\/port\.ts$/,
    ...(folder.startsWith('src/adapters/provider/') ? [KIT] : []),
  ];
  return { files: new RegExp(`^${folder}/`), ours };
}

const roomOf = (path: string): Room | undefined =>
  adapterRoom(path) ?? ROOMS.find((room) => room.files.test(path));

/** `file:line` and what stands there that must not. */
export type Violation = string;

/** Imports against the arrows. Files outside all rooms may import everything but `main.ts` and tests. */
export function importViolations({ path, text }: Source): Violation[] {
  const room = roomOf(path);
  return importsOf(path, text)
    .filter(({ target }) => !mayImport(room, path, target))
    .map(({ target, offset }) => `${path}:${lineOf(text, offset)} imports ${target}`);
}

function mayImport(room: Room | undefined, path: string, target: string): boolean {
  const own = target.startsWith('.');
  const resolved = own ? posix.join(posix.dirname(path), target) : target;
  if (resolved === 'src/main.ts' || resolved.startsWith('test/')) return false;
  if (!room) return true;
  if (!own) return room.packages?.test(target) ?? true;
  if (!mayImportInPg(path, resolved)) return false;
  return room.files.test(resolved) || room.ours.some((allowed) => allowed.test(resolved));
}

interface Import {
  readonly target: string;
  readonly offset: number;
}

/** Static, dynamic and type imports, and re-exports. */
function importsOf(path: string, text: string): Import[] {
  const found: Import[] = [];
  const see = (source: { type: string; value?: unknown; start: number } | null) => {
    if (source && typeof source.value === 'string') {
      found.push({ target: source.value, offset: source.start });
    }
  };
  new Visitor({
    ImportDeclaration: (node) => see(node.source),
    ExportAllDeclaration: (node) => see(node.source),
    ExportNamedDeclaration: (node) => see(node.source),
    ImportExpression: (node) => see(node.source),
    TSImportType: (node) => see(node.source),
  }).visit(parse(path, text));
  return found;
}

/** Rooms that play or touch the world, and so may ask what time it is. */
const WORLDLY = /^src\/(adapters|simulator|agent)\//;

/** `new Date()` and `Date()` read the clock; the linter has no rule for them. */
export function clockViolations({ path, text }: Source): Violation[] {
  if (WORLDLY.test(path)) return [];
  const found: Violation[] = [];
  const see = (node: { callee: unknown; arguments: readonly unknown[]; start: number }) => {
    const { name } = node.callee as { name?: string };
    if (name !== 'Date' || node.arguments.length > 0) return;
    found.push(`${path}:${lineOf(text, node.start)} reads the clock by Date()`);
  };
  new Visitor({ NewExpression: see, CallExpression: see }).visit(parse(path, text));
  return found;
}

function parse(path: string, text: string) {
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message ?? 'does not parse'}`);
  return program;
}
