import { canonicalAddress } from '../../../domain/balancing/pools.ts';
import {
  CHECK_PATH,
  keyOf,
  type HealthCheck,
  type PoolRef,
  type Ref,
  type ServerMode,
  type Spec,
} from '../../../domain/balancing/objects.ts';
import { RemoteFailure } from '../../../domain/errors.ts';
import { sameData } from '../../../lib/data.ts';

/** An object in its pool's file. */
export interface FileObject<Of extends Spec = Spec> {
  readonly ref: Ref;
  readonly spec: Of;
  /** Id of its parent; null if it has none. */
  readonly parentId: string | null;
  /** For a server. */
  readonly mode?: ServerMode;
}
/**
 * The file of one pool, by `keyOf`: HAProxy's configuration after a reload or a restart. It
 * includes each server's mode, so that a new process starts with drained servers drained.
 */
export type PoolFile = Map<string, FileObject>;
export interface End {
  readonly address: string;
  readonly number: number;
}
export interface FileServer extends End {
  readonly mode: ServerMode;
}

export const emptyFile = (): PoolFile => new Map();
export const getFrom = (file: PoolFile, { kind, id }: Ref) => file.get(keyOf(kind, id));
export const removeFrom = (file: PoolFile, { kind, id }: Ref) => file.delete(keyOf(kind, id));
export const putInto = (file: PoolFile, object: FileObject): PoolFile =>
  file.set(keyOf(object.ref.kind, object.ref.id), object);
/** Objects of a kind, below the parent if given, in the order of the file. */
export const listed = <Kind extends Spec['kind']>(file: PoolFile, kind: Kind, parentId?: string) =>
  [...file.values()].filter(
    ({ spec, parentId: of }) => spec.kind === kind && (parentId === undefined || of === parentId),
  ) as FileObject<Spec & { readonly kind: Kind }>[];

/** Separates the names in ids of binds and servers; no name contains it. */
const SEPARATOR = '/';
export function objectOf(spec: Spec, parentId: string | null): FileObject {
  const { kind, name } = spec;
  const isBelow = kind === 'bind' || kind === 'server';
  const id = isBelow ? `${parentId}${SEPARATOR}${name}` : name;
  return { ref: { kind, id }, spec, parentId };
}
export const serverOf = (backend: string, name: string, server: FileServer): FileObject => {
  const { address, number, mode } = server;
  return { ...objectOf({ kind: 'server', name, address, number }, backend), mode };
};

/** The last name in an id, and its parent's name (empty if none). */
export function namesIn({ id }: Ref): { readonly parent: string; readonly name: string } {
  const at = id.indexOf(SEPARATOR);
  return { parent: id.slice(0, Math.max(at, 0)), name: id.slice(at + 1) };
}

export interface FileTimes {
  /** How long an idle connection is kept, milliseconds. */
  readonly idleMs: number;
}

/** First line of every file of this owner. */
export const markOf = ({ uid }: PoolRef): string => `# shepherd-pool ${nameOf(uid)}`;
export const MARK = /^# shepherd-pool \S+$/;

/**
 * Check of each server: dynamic servers inherit nothing, so each has its own. With `weight 0` a
 * server gets no new connections but is still checked; HAProxy 2.6 has no other way to start a
 * server drained.
 */
export const CHECKED = 'check inter 2s rise 2 fall 3';
const MODES: Readonly<Record<ServerMode, string>> = {
  active: 'weight 1',
  drain: 'weight 0',
  off: 'weight 0 disabled',
};

/** The text of a file. @throws {RemoteFailure} a part cannot be written. */
export function render(file: PoolFile, owner: PoolRef, { idleMs }: FileTimes): string {
  const base = `shepherd.${nameOf(owner.suffix)}`;
  const lines = [
    markOf(owner),
    '# Written anew by Shepherd at every change: whatever else is put here is lost.',
    `defaults ${base}`,
    '  mode tcp',
    '  log global',
    '  balance leastconn',
    '  option socket-stats',
    '  option redispatch 1',
    '  retries 3',
    '  timeout connect 5s',
    '  timeout check 5s',
    `  timeout client ${idleMs}ms`,
    `  timeout server ${idleMs}ms`,
  ];
  for (const { spec } of listed(file, 'backend')) {
    const { name, check } = spec;
    const asks = check.by === 'tcp' ? 'tcp-check' : `httpchk GET ${pathOf(check.path)}`;
    lines.push('', `backend ${nameOf(name)} from ${base}`, `  option ${asks}`);
    for (const { spec: server, mode } of listed(file, 'server', name)) {
      const end = endOf(server.address, server.number);
      lines.push(`  server ${nameOf(server.name)} ${end} ${CHECKED} ${MODES[mode!]}`);
    }
  }
  for (const { spec, parentId } of listed(file, 'frontend')) {
    const { name } = spec;
    lines.push('', `frontend ${nameOf(name)} from ${base}`);
    lines.push(`  default_backend ${nameOf(parentId!)}`);
    for (const { spec: bind } of listed(file, 'bind', name)) {
      lines.push(`  bind ${endOf(bind.address, bind.number)} name ${nameOf(bind.name)}`);
    }
  }
  return [...lines, ''].join('\n');
}

/**
 * Parses the lines that `render` writes. To find other content, compare the file's text with
 * `render` of the result. Of manual edits that `render` cannot write, servers and proxies are
 * dropped, a check becomes a connect check, and a frontend without a backend gets the backend of
 * its port, so that its clients are served until the file is repaired.
 */
export function parse(text: string): PoolFile {
  const file = emptyFile();
  let proxy: FileObject | null = null;
  for (const line of text.split('\n')) {
    const [said = ''] = line.split('#', 1);
    const words = said.trim().split(/\s+/);
    const [keyword = '', first = '', second = ''] = words;
    const id = proxy?.ref.id ?? '';
    if (keyword === 'backend' || keyword === 'frontend') {
      proxy =
        keyword === 'backend'
          ? objectOf({ kind: keyword, name: first, check: { by: 'tcp' } }, null)
          : objectOf({ kind: keyword, name: first }, '');
      if (isName(first)) putInto(file, proxy);
      else proxy = null;
    } else if (proxy?.spec.kind === 'backend') {
      if (keyword === 'option' && first === 'httpchk') {
        const path = words[3] ?? '/';
        const check: HealthCheck = CHECK_PATH.test(path) ? { by: 'http', path } : { by: 'tcp' };
        putInto(file, { ...proxy, spec: { ...proxy.spec, check } });
      }
      const end = keyword === 'server' && isName(first) ? readEnd(second) : null;
      if (end) putInto(file, serverOf(id, first, { ...end, mode: modeIn(words) }));
    } else if (proxy?.spec.kind === 'frontend') {
      if (keyword === 'default_backend' && isName(first))
        putInto(file, { ...proxy, parentId: first });
      const name = second === 'name' ? (words[3] ?? '') : '';
      const end = keyword === 'bind' && isName(name) ? readEnd(first) : null;
      if (end) putInto(file, objectOf({ kind: 'bind', name, ...end }, id));
    }
  }
  for (const each of listed(file, 'frontend').filter(({ parentId }) => parentId === '')) {
    const { name } = each.spec;
    if (file.has(keyOf('backend', name))) putInto(file, { ...each, parentId: name });
    else for (const { ref } of [each, ...listed(file, 'bind', name)]) removeFrom(file, ref);
  }
  return file;
}

function modeIn(words: readonly string[]): ServerMode {
  if (words.includes('disabled')) return 'off';
  return words[words.indexOf('weight') + 1] === '0' ? 'drain' : 'active';
}

/** Parses `192.0.2.1:80` and `[2001:db8::1]:80`; null for what `endOf` cannot write. */
export function readEnd(text: string): End | null {
  const [, host, number] = /^\[?([^\]]+?)\]?:(\d{1,5})$/.exec(text) ?? [];
  const address = host === undefined ? null : canonicalAddress(host);
  return address === null || !isPort(Number(number)) ? null : { address, number: Number(number) };
}

/** Whether everything that only a reload can change is the same. */
export const isSameShape = (one: PoolFile, other: PoolFile): boolean =>
  sameData(shapeOf(one), shapeOf(other));

const shapeOf = (file: PoolFile) =>
  (['backend', 'frontend', 'bind'] as const).flatMap((kind) =>
    listed(file, kind).map(({ spec, parentId }) => [spec, parentId]),
  );

/**
 * Permitted text in a line of a configuration or a socket. HAProxy interprets blanks, quotes, `#`,
 * `;` and line ends, and silently accepts a server with an invalid address. So everything written
 * is checked here.
 */
const NAME = /^[A-Za-z0-9_.:-]{1,200}$/;
const PORT_MAX = 65_535;
export const isPort = (number: number): boolean =>
  Number.isInteger(number) && number >= 1 && number <= PORT_MAX;

export const isName = (text: string): boolean => NAME.test(text);

/** @throws {RemoteFailure} it is no valid name. */
export function nameOf(text: string): string {
  if (isName(text)) return text;
  const allowed = 'letters, digits, -, _, . and :, at most 200';
  throw new RemoteFailure(`HAProxy has no name ${JSON.stringify(text)}: only ${allowed}`);
}

/** @throws {RemoteFailure} it is no address, or no port. */
export function endOf(address: string, number: number): string {
  const canonical = canonicalAddress(address);
  if (canonical === null || !isPort(number)) {
    throw new RemoteFailure(`HAProxy cannot be given the end ${JSON.stringify(address)} ${number}`);
  }
  return canonical.includes(':') ? `[${canonical}]:${number}` : `${canonical}:${number}`;
}

/** @throws {RemoteFailure} it is no path. */
export function pathOf(text: string): string {
  if (CHECK_PATH.test(text)) return text;
  throw new RemoteFailure(`HAProxy cannot be told to ask for the path ${JSON.stringify(text)}`);
}

/** @throws {RemoteFailure} a part cannot be written. */
export function requireSpec(spec: Spec): void {
  nameOf(spec.name);
  if ('address' in spec) endOf(spec.address, spec.number);
  if (spec.kind === 'backend' && spec.check.by === 'http') pathOf(spec.check.path);
}

/** @throws {RemoteFailure} a part cannot be written. */
export function requireOwner({ uid, suffix }: PoolRef): void {
  nameOf(uid);
  nameOf(suffix);
}
