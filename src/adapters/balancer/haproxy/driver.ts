import * as leaf from '../../../settings/leaves.ts';
import {
  isSameSpec,
  keyOf,
  PARENT_KIND,
  type Desired,
  type PoolRef,
  type Ref,
  type ServerSpec,
  type Spec,
} from '../../../domain/balancing/objects.ts';
import { RemoteFailure } from '../../../domain/errors.ts';
import type { Clock, Random } from '../../clock/port.ts';
import type { LoadBalancer, BalancerDriver } from '../port.ts';
import { type Change, createChanges } from './changes.ts';
import { createFiles, type FilesDeps } from './files.ts';
import { createMaster } from './master.ts';
import {
  getFrom,
  listed,
  namesIn,
  putInto,
  objectOf,
  removeFrom,
  requireOwner,
  requireSpec,
  serverOf,
  type End,
  type FileServer,
  type FileTimes,
  type PoolFile,
} from './pool-file.ts';
import { observedOf, stricter } from './observed.ts';
import { createRunTimes } from './run-time.ts';
import { z } from 'zod';
import type { Surroundings } from '../../../settings/secret.ts';

export interface HaproxyDeps extends FilesDeps, FileTimes {
  readonly masterSocket: string;
  readonly clock: Clock;
  readonly random: Random;
}

/** This many servers are written, checked and active within 2 s, even on a slow machine. */
const AT_ONCE = 500;

/**
 * A load balancer that is an HAProxy on this machine. One file per pool has the desired state,
 * including drained servers, so that no reload or restart lets traffic in again. Frontends, binds
 * and backends change by reload, servers at run time; a new server is drained until `setMember`.
 *
 * `observe` only reads. If file and running program differ, an object's `differs` says how, and
 * `update` repairs both; of two modes the stricter one wins. `destroy` of a server ends its
 * connections. Ids are names: `<backend>/<server>`, `<frontend>/<bind>`.
 */
export function createHaproxyBalancer(deps: HaproxyDeps): LoadBalancer {
  const { masterSocket, clock, random, idleMs } = deps;
  const master = createMaster(masterSocket, clock, random);
  const runTimes = createRunTimes(master, clock);
  const changes = createChanges({ files: createFiles(deps), master, runTimes, idleMs });

  const observe: LoadBalancer['observe'] = (owner, { signal }) => {
    requireOwner(owner);
    const look = async () => {
      const running = await runTimes.read(signal);
      return observedOf(await changes.known(owner, running), running);
    };
    return changes.alone(look, signal);
  };

  /** Writes a server to the file, and applies it at run time. */
  function have(
    ref: Ref,
    { owner, signal }: Call,
    wanted: (before: FileServer | null, running: FileServer | null) => FileServer,
  ): Promise<void> {
    const { parent, name } = namesIn(ref);
    let wasThere = true;
    const change: Change = {
      owner,
      isByRunTime: true,
      edit(file, running) {
        requireParent(file, ref, parent);
        const before = serverIn(file, ref);
        wasThere = before !== null;
        const server = wanted(before, running.get(parent)?.get(name) ?? null);
        requireSpec({ kind: 'server', name, ...server });
        putInto(file, serverOf(parent, name, server));
        return { backend: parent, name, wanted: server };
      },
      undo: (file) => void (wasThere || removeFrom(file, ref)),
    };
    return changes.make(change, signal);
  }

  return {
    capabilities: {
      ...{ update: true, drain: 'native', sessions: true, health: true },
      ...{ async: false, adopt: false, atOnce: AT_ONCE },
    },
    observe: async (owner, options) => observe(owner, options),

    async create({ spec }, parent, owner, { signal }) {
      requireOwner(owner);
      requireSpec(spec);
      const ref = refFor(spec, parent);
      if (spec.kind === 'server') {
        await have(ref, { owner, signal }, (before) => ({
          ...endIn(spec),
          mode: before?.mode ?? 'drain',
        }));
        return ref;
      }
      const edit = (file: PoolFile) => {
        const there = getFrom(file, ref);
        const isSame = there && isSameSpec(there.spec, spec) && there.parentId === idOf(parent);
        if (!there || isSame) return set(file, spec, parent);
        throw new RemoteFailure(`${spec.kind} ${spec.name} already exists with other settings`);
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
      if (spec.kind !== 'server') {
        const edit = (file: PoolFile) => {
          if (ref.id !== wanted.id) remove(file, ref);
          set(file, spec, parent);
        };
        return changes.make({ owner, edit }, signal);
      }
      // The run-time state may be stricter than the file.
      await have(wanted, { owner, signal }, (before, running) => ({
        ...endIn(spec),
        mode: stricter(
          before?.mode ?? 'active',
          running?.mode ?? (before === null ? 'drain' : 'active'),
        ),
      }));
      if (ref.id !== wanted.id) await destroyServer(ref, { owner, signal });
    },

    async destroy(ref, owner, { signal }) {
      requireOwner(owner);
      if (ref.kind === 'server') return destroyServer(ref, { owner, signal });
      await changes.make({ owner, edit: (file) => remove(file, ref) }, signal);
    },

    async refresh(ref, owner, options) {
      const all = await observe(owner, options);
      const found = all.find((each) => each.ref.kind === ref.kind && each.ref.id === ref.id);
      return found?.phase ?? 'failed';
    },

    async setMember(ref, mode, owner, { signal }) {
      requireOwner(owner);
      await have(ref, { owner, signal }, (before, running) => {
        const there = before ?? running;
        if (ref.kind !== 'server' || there === null) {
          throw new RemoteFailure(`there is no server ${ref.id} in pool ${owner.pool}`);
        }
        return { ...there, mode };
      });
    },

    close: () => changes.close(),
  };

  async function destroyServer(ref: Ref, { owner, signal }: Call): Promise<void> {
    const { parent, name } = namesIn(ref);
    const edit = (file: PoolFile) => {
      if (!file.has(keyOf('backend', parent))) return undefined;
      removeFrom(file, ref);
      return { backend: parent, name, wanted: null };
    };
    await changes.make({ owner, edit }, signal);
  }
}

const endIn = ({ address, number }: ServerSpec): End => ({ address, number });

interface Call {
  readonly owner: PoolRef;
  readonly signal: AbortSignal;
}

/** @throws {RemoteFailure} it has no parent of the right kind. */
function refFor(spec: Spec, parent: Ref | null): Ref {
  const wanted = PARENT_KIND[spec.kind];
  if ((parent?.kind ?? null) !== wanted && wanted !== null) {
    throw new RemoteFailure(`${spec.kind} ${spec.name} needs a ${wanted}`);
  }
  return objectOf(spec, idOf(parent)).ref;
}

const idOf = (parent: Ref | null) => parent?.id ?? null;

/** @throws {RemoteFailure} its parent does not exist. */
function requireParent(file: PoolFile, { kind }: Ref, parentId: string | null): void {
  const parentKind = PARENT_KIND[kind];
  if (parentKind === null || file.has(keyOf(parentKind, parentId!))) return;
  throw new RemoteFailure(`there is no ${parentKind} ${parentId} in this pool`);
}

function serverIn(file: PoolFile, ref: Ref): FileServer | null {
  const { spec, mode } = getFrom(file, ref) ?? {};
  return spec?.kind === 'server' ? { ...endIn(spec), mode: mode! } : null;
}

/** @throws {RemoteFailure} its parent does not exist. */
function set(file: PoolFile, spec: Exclude<Spec, ServerSpec>, parent: Ref | null): void {
  const object = objectOf(spec, PARENT_KIND[spec.kind] && idOf(parent));
  requireParent(file, object.ref, object.parentId);
  putInto(file, object);
}

const CHILDREN = { server: 'servers', frontend: 'a frontend', bind: 'binds' } as const;

/** @throws {RemoteFailure} it still has children. */
function remove(file: PoolFile, ref: Ref): void {
  for (const kind of ['server', 'frontend', 'bind'] as const) {
    if (PARENT_KIND[kind] !== ref.kind || listed(file, kind, ref.id).length === 0) continue;
    throw new RemoteFailure(`${ref.kind} ${ref.id} still has ${CHILDREN[kind]}`);
  }
  removeFrom(file, ref);
}

const BASE_FILES_MAX = 20;

function settings(around: Surroundings) {
  return z.strictObject({
    masterSocket: leaf.path(
      'Socket of the HAProxy master on this machine (haproxy -W -S <socket>).',
      around,
    ),
    poolsDir: leaf.path(
      'Directory of the generated files, one per pool; HAProxy loads it after the operator’s own files.',
      around,
    ),
    baseFiles: leaf.paths(
      'The operator’s own files, as HAProxy is started with them; generated files are checked together with them.',
      BASE_FILES_MAX,
      around,
    ),
    program: leaf
      .text('Program that checks files: a name or a path.', {
        matches: /^[^\s-]\S*$/,
        type: 'a name or a path without blanks',
      })
      .prefault('haproxy'),
    idleTimeout: leaf
      .duration('Idle connections are closed after this time.', 1_000)
      .prefault('1h'),
  });
}

/** An HAProxy (2.6 or later) that runs on this machine as master and workers. */
export const haproxyDriver: BalancerDriver<z.output<ReturnType<typeof settings>>> = {
  name: 'haproxy',
  settings,
  open: ({ masterSocket, poolsDir, baseFiles, program, idleTimeout }, { clock, random }) =>
    createHaproxyBalancer({
      ...{ masterSocket, poolsDir, baseFiles, program, clock, random },
      idleMs: idleTimeout,
    }),
  overlaps: (one, other) => {
    if (one.masterSocket === other.masterSocket) return 'masterSocket';
    return one.poolsDir === other.poolsDir ? 'poolsDir' : null;
  },
};
