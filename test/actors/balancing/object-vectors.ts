import { expect } from 'vitest';
import { mergedAddresses } from '../../../src/domain/balancing/pools.ts';
import { M1, M2, M3, nameOf } from '../../domain/balancing/pool.ts';
import { drain, serve } from '../../support/balancing-stand.ts';
import { MINUTE, UNHARMED, type Vector } from './vector-world.ts';

/** The changes' subjects in order; a backend and a frontend have the same name. */
const kindsOf = (writes: readonly string[], operation: 'create' | 'destroy'): string[] =>
  writes
    .filter((each) => each.startsWith(`${operation} `))
    .map((each) =>
      / v\d/.test(each) ? 'bind' : each.includes(M1.slice(0, 8)) ? 'server' : 'parent',
    );

/** Creations, changes and deletions at a balancer. */
export const OBJECT_VECTORS: readonly Vector[] = [
  {
    name: '1: from nothing to all objects: backends; frontends and servers; binds; all of them marked',
    async run(world, { all, pool, stand, settle }) {
      const life = await settle();
      expect(world.names()).toEqual(all());
      expect(world.everything(), 'nothing else').toEqual(all());
      const made = kindsOf(world.takeWrites(), 'create');
      const binds = pool.ports.length * pool.addresses.length;
      const passes = [made.slice(0, 2), made.slice(2, 8), made.slice(8)];
      expect(passes.map((kinds) => kinds.toSorted())).toEqual([
        ['parent', 'parent'],
        ['parent', 'parent', 'server', 'server', 'server', 'server'],
        Array<string>(binds).fill('bind'),
      ]);
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
    async run(world, { all, settle }) {
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
    needs: ['isOpen'],
    async run(world, { all, stand, settle }) {
      await settle();
      world.takeWrites();
      const reason = 'the pool does not select it';
      stand.wish(drain(M2, { reason, askedAtMs: null, leaves: true }), serve(M3));
      let [activeMin, openMin] = [9, 9];
      for (let step = 0; step < 120; step += 1) {
        await world.pass(1_000);
        const active = Object.values(stand.states()).filter((state) => state === 'active');
        activeMin = Math.min(activeMin, active.length);
        const open = [M1, M2, M3].filter((each) => world.isOpen!(each));
        openMin = Math.min(openMin, open.length);
      }
      expect([activeMin, openMin]).toEqual([2, 2]);
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
    async run(world, { all, stand, settle }) {
      const life = await settle();
      world.takeWrites();
      await stand.ask('teardown-pool');
      await world.pass(2 * MINUTE);
      expect(world.names()).toEqual([]);
      const gone = kindsOf(world.takeWrites(), 'destroy');
      expect(gone).toHaveLength(all().length);
      expect(new Set(gone.slice(-4)), 'children first').toEqual(new Set(['parent']));
      expect(life.state()).toBe('settled');
      expect(stand.standing()?.state).toBe('gone');
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
    async run(world, { all, settle }) {
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
    async run(world, { all, stand, start }) {
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
      expect(stand.log.count('the pool is retried later')).toBeGreaterThan(0);
      expect(stand.standing()?.reason).toBeTruthy();
    },
  },
  {
    name: '9: frontends that are not ready hold back nobody else: servers that are missing are made',
    needs: ['holdBack', 'lose'],
    async run(world, { all, settle }) {
      const life = await settle();
      for (const port of ['http', 'https']) {
        world.holdBack!('frontend', `${port}.api.eu`);
        world.lose!('server', nameOf(M1, port));
      }
      await world.pass(1);
      world.takeWrites();
      await world.pass(7 * MINUTE);
      expect(world.names()).toEqual(all());
      expect(life.state(), 'for the frontends').toBe('waiting');
      const writes = world.takeWrites().filter((each) => !each.startsWith('setMember '));
      expect(writes.toSorted()).toEqual(
        ['http', 'https'].map((port) => `create ${nameOf(M1, port)}`),
      );
    },
  },
  {
    name: '11 and 12: what cannot be destroyed is tried again and counted, and nothing is pending meanwhile',
    needs: ['inject', 'addServer'],
    async run(world, { all, stand, settle }) {
      const life = await settle();
      const retries = () => stand.metrics.total('shepherd_lb_reconcile_delete_retries_total');
      const pending = () =>
        stand.metrics.series('shepherd_lb_reconcile_resources_pending').map(([, count]) => count);
      world.addServer!(nameOf(M3, 'https'));
      world.inject!('destroy', 'failBefore', 3);
      await world.pass(MINUTE);
      while (life.state() !== 'failed') await world.pass(1_000);
      expect(stand.standing()?.reason).toContain(`server ${nameOf(M3, 'https')}`);
      expect(pending()).toEqual([0, 0]);
      await world.pass(7 * MINUTE);
      expect(world.names()).toEqual(all());
      expect(life.state()).toBe('settled');
      expect(retries()).toBe(3);
      expect(pending()).toEqual([0, 0]);
    },
  },
  {
    name: '12: a balancer that says slow down is left alone until then',
    needs: ['throttle'],
    async run(world, { all, stand, settle }) {
      const life = await settle();
      world.throttle!(20 * MINUTE);
      stand.wish(serve(M3));
      await world.pass(MINUTE);
      expect(life.state()).toBe('failed');
      const before = world.calls();
      await world.pass(18 * MINUTE);
      expect(world.calls(), 'no call before that').toBe(before);
      await world.pass(12 * MINUTE);
      expect(world.names()).toEqual(all([M1, M2, M3]));
    },
  },
  {
    name: '13: when the third creation fails, what was made is kept, and only the rest is made then',
    needs: ['inject'],
    async run(world, { all, stand, start }) {
      stand.wish(serve(M1), serve(M2));
      world.inject!('create', 'failAfter', 1, 2);
      await start();
      await world.pass(3 * MINUTE);
      expect(world.names()).toEqual(all());
      const made = world.takeWrites().filter((each) => each.startsWith('create '));
      expect(made).toHaveLength(all().length);
    },
  },
  {
    name: '14: what a crash left half made is finished by the next daemon, and no twin is made',
    needs: ['leaveHalf'],
    async run(world, { all, stand, start }) {
      stand.wish(serve(M1), serve(M2));
      world.leaveHalf!();
      await start();
      await world.pass(3 * MINUTE);
      expect(world.names()).toEqual(all());
    },
  },
  {
    name: '15: a port that is added and removed leaves the other alone, and its clients',
    async run(world, { all, pool, start, settle }) {
      const ports = pool.ports.slice(0, 1);
      const without = await settle({ ports });
      world.takeWrites();
      const clients = world.clients?.(4);
      await without.stop();
      const withBoth = await start();
      await world.pass(3 * MINUTE);
      expect(world.names()).toEqual(all());
      await withBoth.stop();
      await start({ ports });
      await world.pass(3 * MINUTE);
      expect(world.names()).toEqual(all([M1, M2], { ports }));
      const writes = world.takeWrites();
      expect(writes.filter((each) => each.startsWith('destroy '))).toHaveLength(all().length / 2);
      expect(writes.filter((each) => !each.includes('https.'))).toEqual([]);
      expect(await clients?.stop()).toEqual(clients && UNHARMED);
    },
  },
  {
    name: '17: of twins one goes',
    needs: ['twin'],
    async run(world, { all, settle }) {
      await settle();
      world.takeWrites();
      world.twin!('server', nameOf(M1, 'http'));
      await world.pass(10 * MINUTE);
      expect(world.names()).toEqual(all());
      expect(world.takeWrites()).toEqual([`destroy ${nameOf(M1, 'http')}`]);
    },
  },
  {
    name: '24: what somebody removed by hand is there again',
    needs: ['lose'],
    async run(world, { all, settle }) {
      await settle();
      world.lose!('server', nameOf(M1, 'http'));
      world.lose!('bind', 'v4.http.api.eu');
      await world.pass(7 * MINUTE);
      await world.restart?.();
      await world.pass(MINUTE);
      expect(world.names()).toEqual(all());
    },
  },
  {
    name: '26: of two balancers one fails; the other settles, and only what both have is there',
    needs: ['openOther'],
    pool: { balancers: ['edge', 'core'] },
    async run(_, { settle }) {
      const life = await settle();
      expect(life.state('edge')).toBe('settled');
      expect(['failed', 'retrieving']).toContain(life.state('core'));
      expect([...mergedAddresses(life.board.tended().map(({ addresses }) => addresses))]).toEqual([
        ['192.0.2.10', [80, 443]],
      ]);
    },
  },
];
