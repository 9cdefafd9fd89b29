import { expect } from 'vitest';
import { M1, M2, M3, nameOf } from '../../domain/balancing/pool.ts';
import { drain, serve } from '../../support/balancing-stand.ts';
import { all, MINUTE, type Vector } from './vector-world.ts';

/** What is made at a balancer, changed and destroyed there. */
export const OBJECT_VECTORS: readonly Vector[] = [
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
];
