import type {
  Desired,
  PoolRef,
  Ref,
  ServerMode,
  ServerSpec,
  Spec,
} from '../../../domain/balancing/objects.ts';
import { isSameSpec } from '../../../domain/balancing/objects.ts';
import { RemoteFailure } from '../../../domain/errors.ts';
import type { Clock } from '../../clock/port.ts';
import type { LoadBalancer } from '../port.ts';
import { createChanges, type KnownPool } from './changes.ts';
import { createFiles, type FilesDeps } from './files.ts';
import { createMaster } from './master.ts';
import { requireOwner, requireSpec } from './names.ts';
import { namesIn, observedOf, refOf, stricter } from './observed.ts';
import { isEmpty, type FileTimes, type PoolFile } from './pool-file.ts';
import { createRunTimes, type RunTime } from './run-time.ts';

export interface HaproxyDeps extends FilesDeps, FileTimes {
  readonly masterSocket: string;
  readonly clock: Clock;
}

/**
 * A load balancer that is an HAProxy on this machine. One file per pool says what is to be; what is
 * drained stands there as drained, so that no reload and no restart lets traffic in again. Frontends,
 * binds and backends change by reload, servers at run time; a new server is drained until `setMember`.
 *
 * `observe` only reads: where file and running program disagree, an object's `differs` says how, and
 * `update` repairs it in both; a mode on which they disagree becomes the stricter one. `destroy` of a
 * server ends its connections. Ids are names: `<backend>/<server>`, `<frontend>/<bind>`.
 */
export function createHaproxyBalancer(deps: HaproxyDeps): LoadBalancer {
  const { masterSocket, clock, idleMs } = deps;
  const master = createMaster(masterSocket, clock);
  const runTimes = createRunTimes(master, clock);
  const changes = createChanges({ files: createFiles(deps), master, idleMs });

  const observe: LoadBalancer['observe'] = (owner, { signal }) => {
    requireOwner(owner);
    const look = async () => {
      const [known, running] = await Promise.all([changes.known(owner), runTimes.read(signal)]);
      requireFile(owner, known, running);
      return observedOf(known, running);
    };
    return changes.alone(look, signal);
  };

  /** Writes a server to the file, and makes it so at run time. */
  async function have(
    name: string,
    backend: string,
    { owner, signal }: Call,
    wanted: (before: ServerMode | null) => ServerSpec & { readonly mode: ServerMode },
  ): Promise<void> {
    let wasThere = true;
    let mode: ServerMode = 'drain';
    let end = { address: '', number: 0 };
    await changes.make(
      {
        owner,
        edit(file) {
          const { servers } = backendIn(file, backend);
          const before = servers.get(name);
          wasThere = before !== undefined;
          const { address, number, ...rest } = wanted(before?.mode ?? null);
          mode = rest.mode;
          end = { address, number };
          servers.set(name, { ...end, mode });
        },
        async atRunTime(running) {
          await runTimes.have(backend, name, { ...end, mode }, running);
          if (mode === 'off') await runTimes.cut(backend, name, running);
        },
        undo(file) {
          if (!wasThere) file.backends.get(backend)?.servers.delete(name);
        },
      },
      signal,
    );
  }

  /** What is at run time may be stricter than the file. */
  async function modeOf(backend: string, name: string, signal: AbortSignal) {
    const { backends } = await runTimes.read(signal);
    return backends.get(backend)?.get(name);
  }

  return {
    capabilities: {
      ...{ update: true, drain: 'native', sessions: true, health: true },
      ...{ async: false, adopt: false },
    },
    observe: async (owner, options) => observe(owner, options),

    async create({ spec }, parent, owner, { signal }) {
      requireOwner(owner);
      requireSpec(spec);
      const ref = refFor(spec, parent);
      if (spec.kind === 'server') {
        await have(spec.name, parent!.id, { owner, signal }, (mode) => ({
          ...spec,
          mode: mode ?? 'drain',
        }));
        return ref;
      }
      const edit = (file: PoolFile) => {
        const there = specIn(file, ref, spec);
        if (there === null || isSameObject(there, spec, parent)) return set(file, spec, parent);
        throw new RemoteFailure(`${spec.kind} ${spec.name} is there already, and is another`);
      };
      await changes.make({ owner, edit }, signal);
      return ref;
    },

    async update(ref, { spec }: Desired, parent, owner, { signal }) {
      requireOwner(owner);
      requireSpec(spec);
      const wanted = refFor(spec, parent);
      if (wanted.kind !== ref.kind || namesIn(wanted).name !== namesIn(ref).name) {
        throw new RemoteFailure(`${ref.kind} ${ref.id} cannot become ${spec.kind} ${spec.name}`);
      }
      if (spec.kind === 'server') {
        const running = await modeOf(parent!.id, spec.name, signal);
        await have(spec.name, parent!.id, { owner, signal }, (mode) => ({
          ...spec,
          mode: stricter(mode ?? 'active', running?.mode ?? (mode === null ? 'drain' : 'active')),
        }));
      } else {
        const edit = (file: PoolFile) => {
          if (ref.id !== wanted.id) removeFrom(file, ref);
          set(file, spec, parent);
        };
        await changes.make({ owner, edit }, signal);
        return;
      }
      if (ref.id !== wanted.id) await destroyServer(ref, { owner, signal });
    },

    async destroy(ref, owner, { signal }) {
      requireOwner(owner);
      if (ref.kind === 'server') return destroyServer(ref, { owner, signal });
      await changes.make({ owner, edit: (file) => removeFrom(file, ref) }, signal);
    },

    async refresh(ref, owner, options) {
      const all = await observe(owner, options);
      const found = all.find((each) => each.ref.kind === ref.kind && each.ref.id === ref.id);
      return found?.phase ?? 'failed';
    },

    async setMember(ref, mode, owner, { signal }) {
      requireOwner(owner);
      const { parent, name } = namesIn(ref);
      const running = await modeOf(parent, name, signal);
      const { file } = await changes.known(owner);
      const end = file.backends.get(parent)?.servers.get(name) ?? running;
      if (ref.kind !== 'server' || !end || !file.backends.has(parent)) {
        throw new RemoteFailure(`there is no server ${ref.id} in pool ${owner.pool}`);
      }
      const { address, number } = end;
      const spec = { kind: 'server', name, address, number } as const;
      await have(name, parent, { owner, signal }, () => ({ ...spec, mode }));
    },

    close: () => changes.close(),
  };

  async function destroyServer(ref: Ref, { owner, signal }: Call): Promise<void> {
    const { parent, name } = namesIn(ref);
    let isOurs = false;
    const edit = (file: PoolFile) => {
      const backend = file.backends.get(parent);
      isOurs = backend !== undefined;
      backend?.servers.delete(name);
    };
    const atRunTime = async (running: AbortSignal) => {
      if (isOurs) await runTimes.remove(parent, name, running);
    };
    await changes.make({ owner, edit, atRunTime }, signal);
  }
}

/**
 * Where no file tells of a pool that HAProxy serves, it is not known what is to be: that nothing is there
 * would be wrong, and would let its machines be interrupted.
 * @throws {RemoteFailure} HAProxy serves it.
 */
function requireFile(
  { pool, suffix }: PoolRef,
  { file, loaded }: KnownPool,
  running: RunTime,
): void {
  if (!isEmpty(file) || loaded !== null) return;
  const names = [...running.backends.keys(), ...running.frontends.keys()];
  const served = names.find((name) => name.slice(name.indexOf('.') + 1) === suffix);
  if (served === undefined) return;
  throw new RemoteFailure(
    `HAProxy serves ${served}, and no file of pool ${pool} is there: put the directory of its files ` +
      'back; or, if they are gone for good, reload HAProxy without them',
  );
}

interface Call {
  readonly owner: PoolRef;
  readonly signal: AbortSignal;
}

/** @throws {RemoteFailure} it has no parent of the right kind. */
function refFor({ kind, name }: Spec, parent: Ref | null): Ref {
  if (kind === 'backend') return refOf(kind, name);
  const wanted = kind === 'bind' ? 'frontend' : 'backend';
  if (parent?.kind !== wanted) throw new RemoteFailure(`${kind} ${name} needs a ${wanted}`);
  return kind === 'frontend' ? refOf(kind, name) : refOf(kind, name, parent.id);
}

function backendIn(file: PoolFile, name: string) {
  const backend = file.backends.get(name);
  if (backend) return backend;
  throw new RemoteFailure(`there is no backend ${name} in this pool`);
}

/** What of this name is in the file, with its parent; null: nothing. */
function specIn(file: PoolFile, { kind, id }: Ref, { name }: Spec) {
  if (kind === 'backend') {
    const backend = file.backends.get(id);
    return backend ? { spec: { kind, name, check: backend.check }, parent: null } : null;
  }
  if (kind === 'frontend') {
    const frontend = file.frontends.get(id);
    return frontend ? { spec: { kind, name }, parent: frontend.backend } : null;
  }
  const { parent } = namesIn({ kind, id });
  const bind = file.frontends.get(parent)?.binds.get(name);
  return bind ? { spec: { kind: 'bind' as const, name, ...bind }, parent } : null;
}

const isSameObject = (
  there: { readonly spec: Spec; readonly parent: string | null },
  spec: Spec,
  parent: Ref | null,
): boolean => isSameSpec(there.spec, spec) && there.parent === (parent?.id ?? null);

/** @throws {RemoteFailure} its parent is not there. */
function set(file: PoolFile, spec: Exclude<Spec, ServerSpec>, parent: Ref | null): void {
  if (spec.kind === 'backend') {
    const servers = file.backends.get(spec.name)?.servers ?? new Map();
    file.backends.set(spec.name, { check: spec.check, servers });
  } else if (spec.kind === 'frontend') {
    backendIn(file, parent!.id);
    const binds = file.frontends.get(spec.name)?.binds ?? new Map();
    file.frontends.set(spec.name, { backend: parent!.id, binds });
  } else {
    const frontend = file.frontends.get(parent!.id);
    if (!frontend) throw new RemoteFailure(`there is no frontend ${parent!.id} in this pool`);
    frontend.binds.set(spec.name, { address: spec.address, number: spec.number });
  }
}

/** @throws {RemoteFailure} something still hangs on it. */
function removeFrom(file: PoolFile, ref: Ref): void {
  const { parent, name } = namesIn(ref);
  const blocked = (by: string) => new RemoteFailure(`${ref.kind} ${ref.id} still has ${by}`);
  if (ref.kind === 'bind') file.frontends.get(parent)?.binds.delete(name);
  if (ref.kind === 'frontend') {
    if ((file.frontends.get(ref.id)?.binds.size ?? 0) > 0) throw blocked('binds');
    file.frontends.delete(ref.id);
  }
  if (ref.kind === 'backend') {
    if ((file.backends.get(ref.id)?.servers.size ?? 0) > 0) throw blocked('servers');
    const isUsed = [...file.frontends.values()].some(({ backend }) => backend === ref.id);
    if (isUsed) throw blocked('a frontend');
    file.backends.delete(ref.id);
  }
}
