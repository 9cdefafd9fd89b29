import { expect } from 'vitest';
import { M1, M2, M3 } from '../../domain/balancing/pool.ts';
import { drain, drop, serve } from '../../support/balancing-stand.ts';
import { MINUTE, UNHARMED, type Vector } from './vector-world.ts';

/** Which members get traffic, and which are released. */
export const MEMBER_VECTORS: readonly Vector[] = [
  {
    name: '19: a planned reboot with an open connection waits for its end, and it comes back',
    needs: ['isOpen'],
    async run(world, { all, stand, settle }) {
      await settle();
      await world.sessions?.(M1, 1);
      const clients = world.clients?.(0);
      stand.wish(drain(M1));
      await world.pass(3_000);
      expect(stand.states()[M1]).toBe('draining');
      expect(world.isOpen!(M1)).toBe(false);
      expect(world.isOpen!(M2)).toBe(true);
      await world.sessions?.(M1, 0);
      await world.pass(world.sessions ? 5_000 : 35_000);
      expect(stand.states()[M1]).toBe(world.sessions ? 'drained no-sessions' : 'drained grace');
      const how = stand.states()[M1];
      stand.wish(drop(M1));
      await world.pass(MINUTE);
      expect(stand.states()[M1]).toBe(how);
      expect(world.names()).toEqual(all([M2]));
      stand.wish(serve(M1));
      await world.pass(2 * MINUTE);
      expect(stand.states()[M1]).toBe('active');
      expect(world.isOpen!(M1)).toBe(true);
      expect(await clients?.stop()).toEqual(clients && UNHARMED);
    },
  },
  {
    name: '19: who comes back gets no traffic before it is well',
    needs: ['isOpen', 'makeWell'],
    async run(world, { stand, settle }) {
      await settle();
      stand.wish(drop(M1));
      await world.pass(MINUTE);
      expect(stand.states()[M1]).toBe('drained gone');
      await world.makeWell!(M1, false);
      stand.wish(serve(M1));
      await world.pass(90_000);
      expect(stand.states()[M1]).toBe('warming');
      expect(world.isOpen!(M1)).toBe(false);
      await world.makeWell!(M1, true);
      await world.pass(20_000);
      expect(stand.row(M1)).toMatchObject({ state: 'active', note: null });
      expect(world.isOpen!(M1)).toBe(true);
    },
  },
  {
    name: '19: a drain that is withdrawn ends, and the member serves on',
    async run(world, { all, stand, settle }) {
      await settle();
      await world.sessions?.(M1, 1);
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
    async run(world, { all, stand, start }) {
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
    name: '22: two of three members that vanish at once freeze the pool, until it is the same for long',
    async run(world, { all, stand, settle }) {
      const life = await settle();
      stand.wish(serve(M3));
      await world.pass(MINUTE);
      stand.wish(drop(M1), drop(M2));
      await world.pass(4 * MINUTE);
      expect(Object.values(stand.states())).toEqual(['active', 'active', 'active']);
      expect(stand.standing()?.frozen?.reason).toBe('2 members would leave at once');
      expect(stand.log.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
      expect(life.state()).toBe('settled');
      await world.pass(3 * MINUTE);
      expect(world.names()).toEqual(all([M3]));
      expect(stand.standing()?.frozen).toBeNull();
    },
  },
  {
    name: '22: an operator who thaws the pool is believed at once',
    isOurs: true,
    async run(world, { all, stand, settle }) {
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
    name: 'require: who waits for a balancer that cannot be reached is refused after a while',
    isOurs: true,
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
    name: 'a paused pool is not touched, whatever happens to its machines',
    isOurs: true,
    async run(world, { all, stand, settle }) {
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
  {
    name: '23: what an operator broke is told, the old worker serves on, and it ends when that is mended',
    needs: ['spoil', 'isOpen', 'clients'],
    async run(world, { all, stand, settle }) {
      const life = await settle();
      const clients = world.clients!(4);
      world.spoil!(true);
      stand.wish(serve(M3));
      await world.pass(MINUTE);
      expect(life.state()).toBe('failed');
      expect(stand.standing()?.reason).toContain('HAProxy refuses it');
      expect([world.isOpen!(M1), world.isOpen!(M2)]).toEqual([true, true]);
      world.spoil!(false);
      await world.pass(7 * MINUTE);
      expect(world.names()).toEqual(all([M1, M2, M3]));
      expect(await clients.stop()).toEqual(UNHARMED);
    },
  },
  {
    name: '24: a restart leaves members what they are, though nobody knows how well they are',
    needs: ['restart', 'isOpen', 'makeWell'],
    async run(world, { stand, settle }) {
      await settle();
      stand.wish(serve(M3));
      await world.pass(3 * MINUTE);
      stand.wish(drain(M3, { reason: 'parked', askedAtMs: null, leaves: true }));
      await world.pass(MINUTE);
      const before = stand.states();
      expect(before).toEqual({ [M1]: 'active', [M2]: 'active', [M3]: 'drained no-sessions' });
      await world.restart!();
      await world.pass(10 * MINUTE);
      expect(stand.states()).toEqual(before);
      expect([M1, M2, M3].map((each) => world.isOpen!(each))).toEqual([true, true, false]);
      expect(stand.standing()?.frozen ?? null).toBeNull();
    },
  },
];
