import type { Observed, ObjectKind, Ref, ServerMode } from '../../../domain/balancing/objects.ts';
import type { KnownPool } from './changes.ts';
import type { FileBackend, FileFrontend, FileServer, End } from './pool-file.ts';
import type { RunningServer, RunTime } from './tables.ts';

/** What separates the names in ids of binds and servers; no name has one. */
const SEPARATOR = '/';
export const refOf = (kind: ObjectKind, name: string, parent?: string): Ref => ({
  kind,
  id: parent === undefined ? name : `${parent}${SEPARATOR}${name}`,
});

/** The name that an id ends with, and its parent's; that is empty where it has none. */
export function namesIn({ id }: Ref): { readonly parent: string; readonly name: string } {
  const at = id.indexOf(SEPARATOR);
  return { parent: id.slice(0, Math.max(at, 0)), name: id.slice(at + 1) };
}

const NOT_RUNNING = 'the running program does not have it';
const NOT_LOADED = 'it is not loaded yet';
const TAKEN_OUT = 'it was taken out of the file, and the running program has it';

/**
 * Shows the file and the running program as one: what only one of them has is there all the same, and
 * `differs` says so. Whoever wants it updates it, and both have it; whoever does not destroys it, and
 * neither has.
 */
export function observedOf({ file, loaded, isExact }: KnownPool, running: RunTime): Observed[] {
  const all: Observed[] = [];
  const show = (
    ref: Ref,
    object: Pick<Observed, 'spec' | 'parentId'> & Pick<Partial<Observed>, 'server'>,
    differs: string | undefined,
  ) => all.push({ ref, phase: 'ready', tagged: true, ...object, ...(differs && { differs }) });

  const showBackend = (name: string, { check }: FileBackend, differs: string | undefined) =>
    show(
      refOf('backend', name),
      { spec: { kind: 'backend', name, check }, parentId: null },
      differs,
    );
  const showFrontend = (name: string, { backend }: FileFrontend, differs: string | undefined) =>
    show(refOf('frontend', name), { spec: { kind: 'frontend', name }, parentId: backend }, differs);
  const showBind = (parentId: string, name: string, end: End, differs: string | undefined) =>
    show(
      refOf('bind', name, parentId),
      { spec: { kind: 'bind', name, ...end }, parentId },
      differs,
    );
  const showServer = (parentId: string, name: string, end: End, rest: ServerRest) => {
    const { address, number } = end;
    const { differs, reading } = rest;
    const spec = { kind: 'server', name, address, number } as const;
    const server = reading && {
      mode: reading.mode,
      health: reading.health,
      sessions: reading.sessions,
    };
    show(refOf('server', name, parentId), { spec, parentId, ...(server && { server }) }, differs);
  };

  for (const [name, backend] of file.backends) {
    const there = running.backends.get(name);
    const before = loaded?.backends.get(name);
    showBackend(
      name,
      backend,
      there === undefined
        ? NOT_RUNNING
        : !before || !isSame(backend.check, before.check)
          ? NOT_LOADED
          : isExact
            ? undefined
            : 'its file was changed or taken away',
    );
    for (const [server, wanted] of backend.servers) {
      const reading = there?.get(server);
      showServer(name, server, wanted, { differs: differenceOf(wanted, reading), reading });
    }
    for (const [server, reading] of there ?? []) {
      if (backend.servers.has(server)) continue;
      showServer(name, server, reading, { differs: 'its file does not have it', reading });
    }
  }
  for (const [name, frontend] of file.frontends) {
    const there = running.frontends.get(name);
    const before = loaded?.frontends.get(name);
    const isLoaded = before?.backend === frontend.backend;
    showFrontend(name, frontend, there ? (isLoaded ? undefined : NOT_LOADED) : NOT_RUNNING);
    for (const [bind, end] of frontend.binds) {
      const isHere = isSame(before?.binds.get(bind), end);
      showBind(name, bind, end, there?.has(bind) ? (isHere ? undefined : NOT_LOADED) : NOT_RUNNING);
    }
  }
  for (const [name, backend] of loaded?.backends ?? []) {
    const there = running.backends.get(name);
    if (!there || file.backends.has(name)) continue;
    showBackend(name, backend, TAKEN_OUT);
    for (const [server, reading] of there) {
      showServer(name, server, reading, { differs: TAKEN_OUT, reading });
    }
  }
  for (const [name, frontend] of loaded?.frontends ?? []) {
    const there = running.frontends.get(name);
    if (there && !file.frontends.has(name)) showFrontend(name, frontend, TAKEN_OUT);
    for (const [bind, end] of frontend.binds) {
      if (!there?.has(bind) || file.frontends.get(name)?.binds.has(bind)) continue;
      showBind(name, bind, end, TAKEN_OUT);
    }
  }
  return all;
}

interface ServerRest {
  readonly differs: string | undefined;
  readonly reading: RunningServer | undefined;
}

const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

function differenceOf(wanted: FileServer, reading: RunningServer | undefined): string | undefined {
  if (!reading) return NOT_RUNNING;
  if (reading.address !== wanted.address || reading.number !== wanted.number) {
    return `the running program has it at ${reading.address} port ${reading.number}`;
  }
  if (reading.mode === wanted.mode) return undefined;
  return `the running program has it ${reading.mode}, and its file ${wanted.mode}`;
}

const STRICTNESS: readonly ServerMode[] = ['active', 'drain', 'off'];

/** Where two disagree on whether a server gets connections: the one that gives it fewer. */
export const stricter = (one: ServerMode, other: ServerMode): ServerMode =>
  STRICTNESS.indexOf(one) > STRICTNESS.indexOf(other) ? one : other;
