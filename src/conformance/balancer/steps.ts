import type { BalancerCapabilities } from '../../adapters/balancer/port.ts';
import {
  isSameSpec,
  type Desired,
  type ObjectKind,
  type Ref,
} from '../../domain/balancing/objects.ts';
import { codeOf } from '../../domain/errors.ts';
import type { CourseStep } from '../course.ts';
import { must, StepFailed } from '../waiting.ts';
import { type BalancerStage, desiredOf, isSame } from './stage.ts';

/** One test of a balancer's driver. */
export interface BalancerStep extends CourseStep {
  /** Whether it applies to a driver with these capabilities. */
  suits?(capabilities: BalancerCapabilities): boolean;
  readonly takes: readonly ('nothing' | 'objects')[];
  readonly gives?: 'nothing' | 'objects';
  /** Returns a detail to show. @throws {StepFailed} */
  run(stage: BalancerStage, signal: AbortSignal): Promise<string | void>;
}

const refOf = ({ made }: BalancerStage, kind: ObjectKind): Ref => {
  const ref = made.get(kind);
  must(ref !== undefined, `no ${kind} was created`);
  return ref;
};

/** Creates an object, waits for it, and keeps its ref. */
async function make(stage: BalancerStage, desired: Desired, signal: AbortSignal): Promise<Ref> {
  const { kind } = desired.spec;
  const above = kind === 'backend' ? null : refOf(stage, kind === 'bind' ? 'frontend' : 'backend');
  stage.making(desired.spec);
  const ref = await stage.balancer.create(desired, above, stage.owner, { signal });
  must(ref.kind === kind, `the ref of a ${kind} says ${ref.kind}`);
  stage.keep(ref);
  await stage.ready(ref, signal);
  return ref;
}

const ORDER = ['backend', 'frontend', 'server', 'bind'] as const;

async function mustFail(what: string, call: () => Promise<unknown>, code?: string): Promise<void> {
  try {
    await call();
  } catch (error) {
    const known = codeOf(error);
    if (known !== 'internal' && (code === undefined || known === code)) return;
    throw new StepFailed(`${what}: ${known} instead of ${code ?? 'an error of the port'}`, {
      cause: error,
    });
  }
  throw new StepFailed(`${what}: succeeded`);
}

const isSameSet = (one: readonly Ref[], other: readonly Ref[]): boolean =>
  one.length === other.length && one.every((ref) => other.some((each) => isSame(ref, each)));

/** All tests of a driver, in order. */
export const BALANCER_STEPS: readonly BalancerStep[] = [
  {
    id: 'nothing',
    title: 'The listing of a new pool is empty and succeeds',
    takes: [],
    gives: 'nothing',
    async run(stage, signal) {
      must((await stage.observe(signal)).length === 0, 'objects exist before the first creation');
    },
  },
  {
    id: 'abort',
    title: 'Aborting its signal cancels a call',
    takes: [],
    async run({ balancer, owner }) {
      const call = { signal: AbortSignal.abort() };
      await mustFail('observe', () => balancer.observe(owner, call), 'cancelled');
    },
  },
  {
    id: 'creation',
    title: 'An object of each kind is created and becomes ready',
    takes: ['nothing'],
    gives: 'objects',
    async run(stage, signal) {
      const desired = desiredOf(stage);
      for (const kind of ORDER) await make(stage, desired[kind], signal);
    },
  },
  {
    id: 'observation',
    title: 'The listing shows objects as requested, with parent and owner',
    takes: ['objects'],
    async run(stage, signal) {
      const desired = desiredOf(stage);
      const all = await stage.observe(signal);
      must(all.length === ORDER.length, `${all.length} objects are shown instead of 4`);
      for (const kind of ORDER) {
        const seen = await stage.see(refOf(stage, kind), signal);
        const { spec } = desired[kind];
        must(isSameSpec(seen.spec, spec), `${kind}: ${JSON.stringify(seen.spec)} is shown`);
        must(seen.phase === 'ready', `${kind} is ${seen.phase}`);
        must(seen.tagged, `${kind} is not marked as the pool's`);
        must(seen.differs === undefined, `${kind} differs: ${seen.differs}`);
        const parent = kind === 'backend' ? null : kind === 'bind' ? 'frontend' : 'backend';
        const wanted = parent === null ? null : refOf(stage, parent).id;
        must(seen.parentId === wanted, `${kind} has the parent ${seen.parentId}`);
      }
    },
  },
  {
    id: 'repetition',
    title: 'A repeated creation returns the same object',
    takes: ['objects'],
    async run(stage, signal) {
      const before = [...stage.made.values()];
      const desired = desiredOf(stage);
      for (const kind of ORDER) {
        const known = refOf(stage, kind);
        must(isSame(await make(stage, desired[kind], signal), known), `${kind} has another id now`);
      }
      const refs = (await stage.observe(signal)).map(({ ref }) => ref);
      must(isSameSet(refs, before), `the pool has ${refs.length} objects now`);
    },
  },
  {
    id: 'ownership',
    title: 'Another pool does not see these objects',
    takes: ['objects'],
    async run(stage, signal) {
      const seen = await stage.observe(signal, stage.stranger);
      must(seen.length === 0, `the other pool sees ${seen.length} objects`);
    },
  },
  {
    id: 'readings',
    title: 'A server has the fields that the driver declares',
    takes: ['objects'],
    async run(stage, signal) {
      const { sessions, health, drain } = stage.balancer.capabilities;
      const { server = {} } = await stage.see(refOf(stage, 'server'), signal);
      must(!sessions || server.sessions === 0, `it has ${server.sessions} connections`);
      must(!health || server.health !== undefined, 'the listing lacks its health');
      must(drain !== 'native' || server.mode !== undefined, 'the listing lacks its mode');
    },
  },
  {
    id: 'modes',
    title: 'A new server gets no connections until its activation, and can be drained and cut off',
    takes: ['objects'],
    suits: ({ drain }) => drain === 'native',
    async run(stage, signal) {
      const { balancer, owner } = stage;
      const ref = refOf(stage, 'server');
      const modeOf = async () => (await stage.see(ref, signal)).server?.mode;
      const first = await modeOf();
      must(first !== 'active', 'a new server is active');
      for (const mode of ['active', 'drain', 'drain', 'active', 'off', 'off', 'active'] as const) {
        await balancer.setMember!(ref, mode, owner, { signal });
        const seen = await modeOf();
        must(seen === mode, `the requested mode is ${mode}, but it is ${seen}`);
      }
    },
  },
  {
    id: 'update',
    title: 'An update changes a health check and an address in place',
    takes: ['objects'],
    suits: ({ update }) => update,
    async run(stage, signal) {
      const { balancer, owner } = stage;
      const { backend, server } = desiredOf(stage);
      const above = refOf(stage, 'backend');
      const changed = [
        [{ ...backend, spec: { ...backend.spec, check: { by: 'http', path: '/health' } } }, null],
        [{ ...server, spec: { ...server.spec, address: '192.0.2.2' } }, above],
      ] as const;
      for (const [desired, parent] of changed) {
        const { kind } = desired.spec;
        const ref = refOf(stage, kind);
        await balancer.update!(ref, desired, parent, owner, { signal });
        await stage.ready(ref, signal);
        const seen = await stage.see(ref, signal);
        must(isSameSpec(seen.spec, desired.spec), `${kind}: ${JSON.stringify(seen.spec)} is shown`);
      }
      const refs = (await stage.observe(signal)).map(({ ref }) => ref);
      must(isSameSet(refs, [...stage.made.values()]), 'the object was replaced');
    },
  },
  {
    id: 'order',
    title: 'The driver refuses to destroy an object with dependents',
    takes: ['objects'],
    async run(stage, signal) {
      const { balancer, owner } = stage;
      const ref = refOf(stage, 'backend');
      const refused = await balancer.destroy(ref, owner, { signal }).then(
        () => false,
        (error: unknown) => {
          if (codeOf(error) === 'internal') throw error;
          return true;
        },
      );
      must(refused, 'a backend with a server and a frontend was destroyed');
      must(
        (await stage.observe(signal)).length === ORDER.length,
        'another object disappeared with it',
      );
    },
  },
  {
    id: 'destruction',
    title: 'All objects are destroyed, children first; a repetition succeeds',
    takes: ['objects'],
    async run(stage, signal) {
      const { balancer, owner } = stage;
      for (const kind of ['bind', 'server', 'frontend', 'backend'] as const) {
        const ref = refOf(stage, kind);
        await balancer.destroy(ref, owner, { signal });
        await balancer.destroy(ref, owner, { signal });
        const phase = await balancer.refresh(ref, owner, { signal });
        must(phase === 'failed', `a destroyed ${kind} is ${phase}`);
      }
      const left = await stage.observe(signal);
      must(left.length === 0, `${left.length} objects are left`);
    },
  },
];
