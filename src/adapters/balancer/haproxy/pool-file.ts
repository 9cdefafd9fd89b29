import { canonicalAddress } from '../../../domain/balancing/pools.ts';
import {
  CHECK_PATH,
  type HealthCheck,
  type PoolRef,
  type ServerMode,
  type Spec,
} from '../../../domain/balancing/objects.ts';
import { RemoteFailure } from '../../../domain/errors.ts';

/**
 * The file of one pool: what HAProxy has of it after a reload or a restart. The mode of each server
 * stands there too, so that one that is drained is drained from the first moment of a new process.
 */
export interface PoolFile {
  readonly backends: Map<string, FileBackend>;
  readonly frontends: Map<string, FileFrontend>;
}
export interface FileBackend {
  check: HealthCheck;
  readonly servers: Map<string, FileServer>;
}
export interface FileFrontend {
  backend: string;
  readonly binds: Map<string, End>;
}
export interface End {
  readonly address: string;
  readonly number: number;
}
export interface FileServer extends End {
  readonly mode: ServerMode;
}

export const emptyFile = (): PoolFile => ({ backends: new Map(), frontends: new Map() });
export const isEmpty = ({ backends, frontends }: PoolFile): boolean =>
  backends.size === 0 && frontends.size === 0;

export interface FileTimes {
  /** So long a connection over which nothing goes is kept, milliseconds. */
  readonly idleMs: number;
}

/** First line of every file of this owner. */
export const markOf = ({ uid }: PoolRef): string => `# shepherd-pool ${nameOf(uid)}`;
export const MARK = /^# shepherd-pool \S+$/;

/**
 * How each server is checked: dynamic ones inherit nothing, so it is said for each. `weight 0` takes no
 * new connections and is checked all the same; HAProxy 2.6 has no other way to start a server drained.
 */
export const CHECKED = 'check inter 2s rise 2 fall 3';
const MODES: Readonly<Record<ServerMode, string>> = {
  active: 'weight 1',
  drain: 'weight 0',
  off: 'weight 0 disabled',
};

/** The text of a file. @throws {RemoteFailure} something of it cannot be written down. */
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
  for (const [name, { check, servers }] of file.backends) {
    const asks = check.by === 'tcp' ? 'tcp-check' : `httpchk GET ${pathOf(check.path)}`;
    lines.push('', `backend ${nameOf(name)} from ${base}`, `  option ${asks}`);
    for (const [server, { address, number, mode }] of servers) {
      const end = endOf(address, number);
      lines.push(`  server ${nameOf(server)} ${end} ${CHECKED} ${MODES[mode]}`);
    }
  }
  for (const [name, { backend, binds }] of file.frontends) {
    lines.push('', `frontend ${nameOf(name)} from ${base}`, `  default_backend ${nameOf(backend)}`);
    for (const [bind, { address, number }] of binds) {
      lines.push(`  bind ${endOf(address, number)} name ${nameOf(bind)}`);
    }
  }
  return [...lines, ''].join('\n');
}

/**
 * What a file says, as far as it is in lines of ours; `render` can write all of the answer. Whoever wants
 * to know whether there is more in the file compares its text with that. Of what a hand wrote and `render`
 * could not, servers and proxies are left out, a check becomes that by connecting, and a frontend without
 * a backend gets that of its port, so that its clients are served until it is put right.
 */
export function parse(text: string): PoolFile {
  const file = emptyFile();
  let backend: FileBackend | undefined;
  let frontend: FileFrontend | undefined;
  for (const line of text.split('\n')) {
    const [said = ''] = line.split('#', 1);
    const words = said.trim().split(/\s+/);
    const [keyword = '', first = '', second = ''] = words;
    if (keyword === 'backend') {
      frontend = undefined;
      backend = isName(first) ? { check: { by: 'tcp' }, servers: new Map() } : undefined;
      if (backend) file.backends.set(first, backend);
    } else if (keyword === 'frontend') {
      backend = undefined;
      frontend = isName(first) ? { backend: '', binds: new Map() } : undefined;
      if (frontend) file.frontends.set(first, frontend);
    } else if (keyword === 'option' && first === 'httpchk' && backend) {
      const path = words[3] ?? '/';
      backend.check = CHECK_PATH.test(path) ? { by: 'http', path } : { by: 'tcp' };
    } else if (keyword === 'server' && backend) {
      const end = readEnd(second);
      if (end && isName(first)) backend.servers.set(first, { ...end, mode: modeIn(words) });
    } else if (keyword === 'default_backend' && frontend && isName(first)) {
      frontend.backend = first;
    } else if (keyword === 'bind' && frontend) {
      const end = readEnd(first);
      const name = second === 'name' ? (words[3] ?? '') : '';
      if (end && isName(name)) frontend.binds.set(name, end);
    }
  }
  for (const [name, each] of file.frontends) {
    if (each.backend !== '') continue;
    if (file.backends.has(name)) each.backend = name;
    else file.frontends.delete(name);
  }
  return file;
}

function modeIn(words: readonly string[]): ServerMode {
  if (words.includes('disabled')) return 'off';
  return words[words.indexOf('weight') + 1] === '0' ? 'drain' : 'active';
}

/** Reads `192.0.2.1:80` and `[2001:db8::1]:80`; null: it is neither, or `endOf` could not write it. */
export function readEnd(text: string): End | null {
  const [, host, number] = /^\[?([^\]]+?)\]?:(\d{1,5})$/.exec(text) ?? [];
  const address = host === undefined ? null : canonicalAddress(host);
  return address === null || !isPort(Number(number)) ? null : { address, number: Number(number) };
}

/** Whether what only a reload changes is the same. */
export const isSameShape = (one: PoolFile, other: PoolFile): boolean =>
  shapeOf(one) === shapeOf(other);

const shapeOf = ({ backends, frontends }: PoolFile): string =>
  JSON.stringify([
    [...backends].map(([name, { check }]) => [name, check]),
    [...frontends].map(([name, { backend, binds }]) => [name, backend, [...binds]]),
  ]);

/**
 * What may stand in a line of a configuration or of a socket. HAProxy takes blanks, quotes, `#`, `;`
 * and line ends for more than text, and silently takes a server whose address is no address; so
 * everything that is written passes here first.
 */
const NAME = /^[A-Za-z0-9_.:-]{1,200}$/;
const PORT_MAX = 65_535;
export const isPort = (number: number): boolean =>
  Number.isInteger(number) && number >= 1 && number <= PORT_MAX;

export const isName = (text: string): boolean => NAME.test(text);

/** @throws {RemoteFailure} it cannot be a name. */
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

/** @throws {RemoteFailure} something of it cannot be written down. */
export function requireSpec(spec: Spec): void {
  nameOf(spec.name);
  if ('address' in spec) endOf(spec.address, spec.number);
  if (spec.kind === 'backend') requireCheck(spec.check);
}

/** @throws {RemoteFailure} something of it cannot be written down. */
export function requireOwner({ uid, suffix }: PoolRef): void {
  nameOf(uid);
  nameOf(suffix);
}

const requireCheck = (check: HealthCheck): void => {
  if (check.by === 'http') pathOf(check.path);
};
