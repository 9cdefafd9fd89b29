import { afterEach, beforeEach, expect, test } from 'vitest';
import type { BalancerCapabilities, LoadBalancer } from '../../../src/adapters/balancer/port.ts';
import type { ObjectKind } from '../../../src/domain/balancing/objects.ts';
import type { Pool } from '../../../src/domain/balancing/pools.ts';
import type { MachineId } from '../../../src/domain/ids.ts';
import type { VirtualClock } from '../../doubles/simulated-clock.ts';
import { desired, M1, M2, M3, nameOf, pool as poolOf } from '../../domain/balancing/pool.ts';
import {
  createBalancingStand,
  drain,
  drop,
  keep,
  serve,
  type BalancingStand,
  type StandLife,
} from '../../support/balancing-stand.ts';

/**
 * The published vectors of load balancing, on a running pool over any balancer. What an
 * implementation cannot be made to do it leaves out, and its vectors are not run.
 */
export interface VectorWorld {
  readonly clock: VirtualClock;
  readonly balancer: LoadBalancer;
  /** Lets virtual time pass, with all that happens in it. */
  pass(ms: number): Promise<void>;
  /** Everything of the pool's that is there, `<kind> <name>`, sorted. */
  names(): readonly string[];
  /** What was asked to be changed since this was asked last: `<operation> <name>`. */
  takeWrites(): readonly string[];
  /** How many calls there were at all. */
  calls(): number;
  end(): Promise<void>;
  /** Puts a server of ours there that nobody wants. */
  addServer?(name: string): void;
  /** Puts the same object there once more. */
  twin?(kind: ObjectKind, name: string): void;
  /** Takes its owner's mark off it. */
  untag?(kind: ObjectKind, name: string): void;
  /** An object with our name that another owner marked. */
  foreign?(kind: ObjectKind, name: string): void;
  /** The balancer calls it failed; `stubborn`: whatever is asked of it. */
  fail?(kind: ObjectKind, name: string, stubborn?: boolean): void;
  /** Removes it behind everybody's back. */
  lose?(kind: ObjectKind, name: string): void;
  /** It gets ready only when it is told, if ever. */
  holdBack?(kind: ObjectKind, name: string): void;
  /** The next calls of the kind come to nothing, or their answers are lost. */
  inject?(
    operation: 'observe' | 'create' | 'destroy',
    effect: 'failBefore' | 'failAfter' | 'untagged',
    times?: number,
  ): void;
  /** All calls are refused for so long. */
  throttle?(ms: number): void;
  cutOff?(isCut: boolean): void;
  /** So many connections are open on each server of the machine. */
  sessions?(machine: MachineId, count: number): void;
  /** Whether servers of the machine take new connections. */
  isOpen?(machine: MachineId): boolean;
}

const MINUTE = 60_000;
const all = (ids: readonly MachineId[] = [M1, M2], change: Partial<Pool> = {}): string[] =>
  desired(ids, change)
    .map(({ spec }) => `${spec.kind} ${spec.name}`)
    .toSorted();

type Vector = (world: VectorWorld, context: VectorContext) => Promise<void>;
interface VectorContext {
  readonly stand: BalancingStand;
  start(): Promise<StandLife>;
  /** All 12 objects are there, and both machines active. */
  settle(): Promise<StandLife>;
}

const VECTORS: readonly {
  readonly name: string;
  readonly needs?: readonly (keyof VectorWorld)[];
  /** Only on balancers that can do this. */
  readonly only?: (capabilities: BalancerCapabilities) => boolean;
  readonly pool?: Partial<Pool>;
  readonly run: Vector;
}[] = [
  {
    name: '1: from nothing to 12 objects, parents before children',
    async run(world, { stand, settle }) {
      const life = await settle();
      expect(world.names()).toEqual(all());
      const kinds = world
        .takeWrites()
        .filter((each) => each.startsWith('create '))
        .map((each) =>
          / v\d/.test(each) ? 'bind' : each.includes(M1.slice(0, 8)) ? 'server' : 'parent',
        );
      expect(kinds.indexOf('bind')).toBeGreaterThan(kinds.lastIndexOf('parent'));
      expect(life.state()).toBe('settled');
      expect(stand.standing()?.settledAtMs).not.toBeNull();
    },
  },
  {
    name: '2: on a settled balancer nothing is written, however often it is looked at',
    async run(world, { settle }) {
      await settle();
      world.takeWrites();
      await world.pass(30 * MINUTE);
      expect(world.takeWrites()).toEqual([]);
    },
  },
  {
    name: '3: a server too many goes, and nothing else',
    needs: ['addServer'],
    async run(world, { settle }) {
      await settle();
      world.takeWrites();
      world.addServer!(nameOf(M3, 'https'));
      await world.pass(10 * MINUTE);
      expect(world.takeWrites()).toEqual([`destroy ${nameOf(M3, 'https')}`]);
      expect(world.names()).toEqual(all());
    },
  },
  {
    name: '4: of two members one is replaced: two servers come and are ready before two go',
    async run(world, { stand, settle }) {
      await settle();
      world.takeWrites();
      const reason = 'the pool does not select it';
      stand.wish(drain(M2, { reason, askedAtMs: null, leaves: true }), serve(M3));
      let activeMin = 9;
      for (let step = 0; step < 120; step += 1) {
        await world.pass(1_000);
        const active = Object.values(stand.states()).filter((state) => state === 'active');
        activeMin = Math.min(activeMin, active.length);
      }
      expect(activeMin).toBe(2);
      expect(world.names()).toEqual(all([M1, M3]));
      const changes = world.takeWrites().filter((each) => /^(create|destroy)/.test(each));
      expect(changes.toSorted()).toEqual(
        [
          `create ${nameOf(M3, 'http')}`,
          `create ${nameOf(M3, 'https')}`,
          `destroy ${nameOf(M2, 'http')}`,
          `destroy ${nameOf(M2, 'https')}`,
        ].toSorted(),
      );
      expect(changes.findIndex((each) => each.startsWith('destroy'))).toBe(2);
      expect(stand.states()).toEqual({ [M1]: 'active', [M3]: 'active' });
    },
  },
  {
    name: '5: a pool that is torn down leaves nothing, and comes back when it is resumed',
    async run(world, { stand, settle }) {
      const life = await settle();
      await stand.ask('teardown-pool');
      await world.pass(2 * MINUTE);
      expect(world.names()).toEqual([]);
      expect(life.state()).toBe('settled');
      expect(Object.values(stand.states()).filter((each) => !each.startsWith('drained'))).toEqual(
        [],
      );
      await stand.ask('resume-pool');
      await world.pass(2 * MINUTE);
      expect(world.names()).toEqual(all());
    },
  },
  {
    name: '6: what another owner marked is left alone',
    needs: ['foreign'],
    async run(world, { settle }) {
      world.foreign!('backend', 'http.api.eu');
      await settle();
      world.takeWrites();
      await world.pass(10 * MINUTE);
      expect(world.takeWrites()).toEqual([]);
      expect(world.names()).toEqual(all());
    },
  },
  {
    name: '7 and 16: a balancer that cannot be read, wholly or in part, is not written to',
    needs: ['inject'],
    async run(world, { stand, start }) {
      world.inject!('observe', 'failBefore', 3);
      stand.wish(serve(M1), serve(M2));
      const life = await start();
      await world.pass(2_000);
      expect(world.takeWrites()).toEqual([]);
      expect(['failed', 'retrieving']).toContain(life.state());
      await world.pass(2 * MINUTE);
      expect(world.names()).toEqual(all());
    },
  },
  {
    name: '8: an object that failed is asked for again three times, then replaced, and only it',
    needs: ['fail'],
    only: ({ update }) => update,
    async run(world, { settle }) {
      await settle();
      world.takeWrites();
      world.fail!('bind', 'v4.http.api.eu', true);
      await world.pass(6 * MINUTE);
      const first = world.takeWrites();
      expect(first.length).toBeGreaterThan(0);
      expect(new Set(first)).toEqual(new Set(['update v4.http.api.eu']));
      await world.pass(25 * MINUTE);
      const later = world.takeWrites();
      expect(first.length + later.filter((each) => each.startsWith('update')).length).toBe(3);
      expect(later.filter((each) => !each.startsWith('update'))).toEqual([
        'destroy v4.http.api.eu',
        'create v4.http.api.eu',
      ]);
    },
  },
  {
    name: '9 and 25: what is not ready is waited for; what others need of the balancer goes on',
    needs: ['holdBack'],
    async run(world, { stand, settle }) {
      const life = await settle();
      world.holdBack!('bind', 'v4.http.api.eu');
      await world.pass(7 * MINUTE);
      expect(life.state()).toBe('waiting');
      stand.wish(serve(M3));
      await world.pass(MINUTE);
      expect(stand.states()[M3]).toBe('active');
      await world.pass(45 * MINUTE);
      expect(stand.log.count('the pool is tried again later')).toBeGreaterThan(0);
      expect(stand.standing()?.reason).toBeTruthy();
    },
  },
  {
    name: '11 and 12: what cannot be destroyed is tried again, and nothing is pending meanwhile',
    needs: ['inject', 'addServer'],
    async run(world, { settle }) {
      const life = await settle();
      world.addServer!(nameOf(M3, 'https'));
      world.inject!('destroy', 'failBefore', 3);
      await world.pass(7 * MINUTE);
      expect(world.names()).toEqual(all());
      expect(life.state()).toBe('settled');
    },
  },
  {
    name: '12: a balancer that says slow down is left alone until then',
    needs: ['throttle'],
    async run(world, { stand, settle }) {
      const life = await settle();
      world.throttle!(20 * MINUTE);
      stand.wish(serve(M3));
      await world.pass(MINUTE);
      expect(life.state()).toBe('failed');
      await world.pass(30 * MINUTE);
      expect(world.names()).toEqual(all([M1, M2, M3]));
    },
  },
  {
    name: '13: a creation that fails ends the run; the next makes only the rest',
    needs: ['inject'],
    async run(world, { stand, start }) {
      stand.wish(serve(M1), serve(M2));
      world.inject!('create', 'failAfter', 1);
      await start();
      await world.pass(3 * MINUTE);
      expect(world.names()).toEqual(all());
      const made = world.takeWrites().filter((each) => each.startsWith('create '));
      expect(made).toHaveLength(12);
    },
  },
  {
    name: '14: what was made and not marked is adopted, and no twin is made',
    needs: ['inject'],
    only: ({ adopt }) => adopt,
    async run(world, { stand, start }) {
      stand.wish(serve(M1), serve(M2));
      world.inject!('create', 'untagged', 1);
      await start();
      await world.pass(3 * MINUTE);
      expect(world.names()).toEqual(all());
    },
  },
  {
    name: '17: of twins one goes',
    needs: ['twin'],
    async run(world, { settle }) {
      await settle();
      world.takeWrites();
      world.twin!('server', nameOf(M1, 'http'));
      await world.pass(10 * MINUTE);
      expect(world.names()).toEqual(all());
      expect(world.takeWrites()).toEqual([`destroy ${nameOf(M1, 'http')}`]);
    },
  },
  {
    name: '17: of two machines that share an address one is served',
    async run(world, { stand, settle }) {
      await settle();
      stand.wish(serve(M3, '10.0.0.1'));
      await world.pass(2 * MINUTE);
      expect(world.names()).toEqual(all());
      expect(stand.states()[M3]).toBeUndefined();
    },
  },
  {
    name: '19: a planned reboot with an open connection waits for its end; it comes back warm',
    needs: ['sessions', 'isOpen'],
    async run(world, { stand, settle }) {
      await settle();
      world.sessions!(M1, 1);
      stand.wish(drain(M1));
      await world.pass(3_000);
      expect(stand.states()[M1]).toBe('draining');
      expect(world.isOpen!(M1)).toBe(false);
      expect(world.isOpen!(M2)).toBe(true);
      world.sessions!(M1, 0);
      await world.pass(5_000);
      expect(stand.states()[M1]).toBe('drained no-sessions');
      stand.wish(drop(M1));
      await world.pass(MINUTE);
      expect(stand.states()[M1]).toBe('drained no-sessions');
      expect(world.names()).toEqual(all([M2]));
      stand.wish(serve(M1));
      await world.pass(2 * MINUTE);
      expect(stand.states()[M1]).toBe('active');
      expect(world.isOpen!(M1)).toBe(true);
    },
  },
  {
    name: '19: connections that do not end are cut when the grace is over',
    needs: ['sessions'],
    async run(world, { stand, settle }) {
      await settle();
      world.sessions!(M1, 1);
      stand.wish(drain(M1));
      await world.pass(29_000);
      expect(stand.states()[M1]).toBe('draining');
      await world.pass(5_000);
      expect(stand.states()[M1]).toBe('drained grace');
    },
  },
  {
    name: '19: a drain that is withdrawn ends, and the member serves on',
    async run(world, { stand, settle }) {
      await settle();
      world.sessions?.(M1, 1);
      stand.wish(drain(M1));
      await world.pass(5_000);
      expect(stand.states()[M1]).toBe('draining');
      stand.wish(serve(M1));
      await world.pass(2 * MINUTE);
      expect(stand.states()[M1]).toBe('active');
      expect(world.names()).toEqual(all());
    },
  },
  {
    name: '20: the only active member is not let go, unless by force',
    async run(world, { stand, settle }) {
      await settle();
      stand.wish(drain(M1));
      await world.pass(2 * MINUTE);
      expect(stand.states()[M1]).toMatch(/^drained/);
      stand.wish(drain(M2, { askedAtMs: 2 }));
      await world.pass(10 * MINUTE);
      expect(stand.states()[M2]).toBe('active');
      expect(stand.row(M2)?.note).toContain('it waits for its turn');
      stand.wish(drop(M1));
      stand.forget(M1);
      await world.pass(MINUTE);
      expect(stand.states()[M2]).toBe('active');
      expect(stand.row(M2)?.note).toContain('not before another is active');
      stand.wish(drain(M2, { force: true }));
      await world.pass(2 * MINUTE);
      expect(stand.states()[M2]).toMatch(/^drained/);
    },
  },
  {
    name: '21: before the fleet is known no call is made; then all is as ever',
    async run(world, { stand, start }) {
      stand.know(false);
      stand.wish(serve(M1), serve(M2));
      await start();
      await world.pass(30 * MINUTE);
      expect(world.calls()).toBe(0);
      stand.know(true);
      await world.pass(MINUTE);
      expect(world.names()).toEqual(all());
    },
  },
  {
    name: '21: while nobody can tell how machines are, they stay what they are',
    async run(world, { stand, settle }) {
      await settle();
      world.takeWrites();
      stand.wish(keep(M1), keep(M2));
      await world.pass(30 * MINUTE);
      expect(world.takeWrites()).toEqual([]);
      expect(stand.states()).toEqual({ [M1]: 'active', [M2]: 'active' });
    },
  },
  {
    name: '22: two of three members that vanish at once freeze the pool, until it is the same for long',
    async run(world, { stand, settle }) {
      const life = await settle();
      stand.wish(serve(M3));
      await world.pass(MINUTE);
      stand.wish(drop(M1), drop(M2));
      await world.pass(4 * MINUTE);
      expect(Object.values(stand.states())).toEqual(['active', 'active', 'active']);
      expect(stand.standing()?.frozen?.reason).toBe('2 members would go at once');
      expect(stand.log.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
      expect(life.state()).toBe('settled');
      await world.pass(3 * MINUTE);
      expect(world.names()).toEqual(all([M3]));
      expect(stand.standing()?.frozen).toBeNull();
    },
  },
  {
    name: '22: an operator who thaws the pool is believed at once',
    async run(world, { stand, settle }) {
      await settle();
      stand.wish(drop(M1), drop(M2));
      await world.pass(MINUTE);
      expect(world.names()).toEqual(all());
      await stand.ask('thaw-pool');
      await world.pass(MINUTE);
      expect(Object.values(stand.states()).every((each) => each === 'drained gone')).toBe(true);
      expect(stand.standing()?.frozen).toBeNull();
    },
  },
  {
    name: '22: a single machine that vanishes is taken out at once',
    async run(world, { stand, settle }) {
      await settle();
      stand.wish(drop(M1));
      await world.pass(10_000);
      expect(stand.states()[M1]).toBe('drained gone');
      expect(world.names()).toEqual(all([M2]));
    },
  },
  {
    name: '24: what somebody removed by hand is there again',
    needs: ['lose'],
    async run(world, { settle }) {
      await settle();
      world.lose!('server', nameOf(M1, 'http'));
      world.lose!('bind', 'v4.http.api.eu');
      await world.pass(7 * MINUTE);
      expect(world.names()).toEqual(all());
    },
  },
  {
    name: 'require: who waits for a balancer that cannot be reached is refused after a while',
    needs: ['cutOff'],
    async run(world, { stand, settle }) {
      await settle();
      world.cutOff!(true);
      stand.wish(drain(M1, { askedAtMs: stand.clock.now() }));
      await world.pass(9 * MINUTE);
      expect(stand.row(M1)).toMatchObject({ refused: false, waived: false });
      await world.pass(2 * MINUTE);
      expect(stand.row(M1)).toMatchObject({ refused: true, waived: false });
      expect(stand.states()[M1]).not.toMatch(/^drained/);
      expect(stand.row(M1)?.note).toContain('refused: balancer edge cannot be reached');
      world.cutOff!(false);
      await world.pass(7 * MINUTE);
      expect(stand.states()[M1]).toMatch(/^drained/);
    },
  },
  {
    name: 'best-effort: a balancer that cannot be reached is not waited for',
    needs: ['cutOff'],
    pool: { drain: { graceMs: 30_000, policy: 'best-effort', waitMs: 600_000, atOnce: 1 } },
    async run(world, { stand, settle }) {
      await settle();
      world.cutOff!(true);
      stand.wish(drain(M1, { askedAtMs: stand.clock.now() }));
      await world.pass(MINUTE);
      expect(stand.states()[M1]).not.toMatch(/^drained/);
      expect(stand.row(M1)).toMatchObject({ waived: true });
      stand.wish(serve(M1));
      world.cutOff!(false);
      await world.pass(7 * MINUTE);
      expect(stand.row(M1)).toMatchObject({ state: 'active', waived: false });
    },
  },
  {
    name: 'a paused pool is not touched, whatever happens to its machines',
    async run(world, { stand, settle }) {
      const life = await settle();
      await stand.ask('pause-pool');
      await world.pass(1_000);
      const before = world.calls();
      stand.wish(drop(M1), serve(M3));
      await world.pass(30 * MINUTE);
      expect(life.state()).toBe('paused');
      expect(world.calls()).toBe(before);
      await stand.ask('resume-pool');
      await world.pass(MINUTE);
      expect(world.names()).toEqual(all([M2, M3]));
    },
  },
];

/** Runs the vectors that the world can be made to show. */
export function balancingVectors(open: () => Promise<VectorWorld>): void {
  let world: VectorWorld;
  const lives: StandLife[] = [];
  beforeEach(async () => {
    world = await open();
  });
  afterEach(async () => {
    for (const life of lives.splice(0)) await life.stop();
    await world.end();
  });
  test.for(VECTORS)('$name', async ({ needs = [], only = () => true, pool, run }, scene) => {
    const missing = needs.filter((each) => world[each] === undefined);
    if (missing.length > 0) scene.skip(`this balancer cannot be made to do: ${missing.join(', ')}`);
    if (!only(world.balancer.capabilities)) scene.skip('this balancer cannot do that');
    const stand = createBalancingStand({
      clock: world.clock,
      pools: [poolOf(pool)],
      balancers: { edge: world.balancer },
    });
    const start = async () => {
      const life = await stand.life();
      lives.push(life);
      return life;
    };
    const settle = async () => {
      stand.wish(serve(M1), serve(M2));
      const life = await start();
      await world.pass(3 * MINUTE);
      expect(world.names()).toEqual(all());
      expect(stand.states()).toEqual({ [M1]: 'active', [M2]: 'active' });
      return life;
    };
    await run(world, { stand, start, settle });
  });
}
