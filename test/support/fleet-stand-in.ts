import { createActor, setup, type CallbackActorLogic } from 'xstate';
import type { FleetEvent, SlotNews } from '../../src/machines/fleet.ts';

/** Runs a service of the fleet as the fleet would, and records its events. */
export interface FleetStandIn {
  /** News that were not taken yet. */
  readonly news: SlotNews[];
  readonly crashes: unknown[];
  /** How often the guard was nudged. */
  nudges(): number;
  stop(): void;
}

export function runService(service: CallbackActorLogic<FleetEvent, void>): FleetStandIn {
  const news: SlotNews[] = [];
  const crashes: unknown[] = [];
  let nudges = 0;
  const host = setup({
    types: { events: {} as FleetEvent },
    actors: { service },
    actions: {
      record: ({ event }) => {
        if (event.type === 'slots.changed') news.push(...event.news);
        if (event.type === 'guard.nudged') nudges += 1;
        if (event.type === 'service.crashed') crashes.push(event.error);
      },
    },
  }).createMachine({
    invoke: { id: 'service', src: 'service' },
    on: { '*': { actions: 'record' } },
  });
  const actor = createActor(host).start();
  return { news, crashes, nudges: () => nudges, stop: () => void actor.stop() };
}
