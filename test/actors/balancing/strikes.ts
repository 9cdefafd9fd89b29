import type { MemberState } from '../../../src/domain/balancing/members.ts';
import { M1, M2, M3 } from '../../domain/balancing/pool.ts';
import { drain, drop, serve } from '../../support/balancing-stand.ts';
import type { VectorContext, VectorWorld } from './vector-world.ts';

/** A state in which a daemon is killed, and how a daemon with a settled pool of two reaches it. */
export interface KillPoint {
  /** A state of the chart or of a member. */
  readonly state: string;
  readonly needs?: readonly (keyof VectorWorld)[];
  provoke?(world: VectorWorld, context: VectorContext): unknown;
  /** Further conditions, once the daemon runs. */
  meanwhile?(world: VectorWorld, context: VectorContext): unknown;
  /** Withdraws everything, once the next daemon has restored order. */
  undo?(world: VectorWorld, context: VectorContext): unknown;
}

type KillScript = Pick<KillPoint, 'provoke' | 'meanwhile' | 'undo'>;
/** A third machine joins and leaves. */
const JOIN: KillScript = {
  provoke: (_, { stand }) => stand.wish(serve(M3)),
  undo: (_, { stand }) => stand.wish(drop(M3)),
};
/** A machine gets a reboot request. */
const DRAIN: KillScript = {
  provoke: (_, { stand }) => stand.wish(drain(M1)),
  undo: (_, { stand }) => stand.wish(serve(M1)),
};
const DROP: KillScript = {
  provoke: (_, { stand }) => stand.wish(drop(M2)),
  undo: (_, { stand }) => stand.wish(serve(M2)),
};
/** The database is unreachable until the daemon is dead. */
const loseDatabase = ({ stand }: VectorContext) => void (stand.bmdb.tables.reachable = false);

export const CHART_STRIKES: readonly KillPoint[] = [
  { state: 'awaitingLease' },
  {
    state: 'barred',
    provoke: (_, { stand }) => stand.know(false),
    meanwhile(_, context) {
      loseDatabase(context);
      context.stand.know(true);
    },
  },
  { state: 'retrieving' },
  { state: 'checking' },
  {
    state: 'recovering',
    needs: ['fail'],
    provoke: (world) => world.fail!('bind', 'v4.http.api.eu'),
  },
  { state: 'destroying', ...DROP },
  { state: 'creating', ...JOIN },
  { state: 'polling', ...JOIN },
  { state: 'sleeping', needs: ['holdBack'], ...JOIN },
  { state: 'settled' },
  { state: 'failed', provoke: (world) => world.inject!('observe', 'failBefore') },
  { state: 'stepping' },
  { state: 'resting' },
  {
    ...{ state: 'backingOff', undo: JOIN.undo! },
    async meanwhile(world, context) {
      await world.pass(20_000);
      loseDatabase(context);
      JOIN.provoke!(world, context);
    },
  },
  {
    state: 'paused',
    provoke: (_, { stand }) => stand.ask('pause-pool'),
    undo: (_, { stand }) => stand.ask('resume-pool'),
  },
];

const of = (state: MemberState, way: KillScript): KillPoint => ({ state, ...way });
export const MEMBER_STRIKES: readonly KillPoint[] = [
  of('joining', JOIN),
  {
    state: 'warming',
    needs: ['makeWell'],
    async provoke(world, context) {
      await world.makeWell!(M3, false);
      JOIN.provoke!(world, context);
    },
    async undo(world, context) {
      await world.makeWell!(M3, true);
      JOIN.undo!(world, context);
    },
  },
  of('active', JOIN),
  of('draining', DRAIN),
  of('drained', DRAIN),
];
