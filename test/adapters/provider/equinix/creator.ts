import { once } from 'node:events';
import { witness } from '../../../../src/domain/ids.ts';
import { fleetOver } from './fleet.ts';
import { configFor, recordingDeps } from './setup.ts';

/** What a process of {@link CreatorDone} is started with. */
export interface CreatorSetup {
  readonly baseUrl: string;
  readonly token: string;
  readonly projectId: string;
  readonly slot: string;
  readonly witnesses: readonly string[];
}
/** How each of its creations ended, in the order of its witnesses. */
export interface CreatorDone {
  readonly results: readonly { id?: string | null; code?: string; outcome?: string }[];
}

/**
 * A process that wants the free reservation several times at once: it lists, says that it is ready,
 * and begins when it is told to.
 */
const live = { signal: new AbortController().signal };
process.on('disconnect', () => process.exit(0));
const [setup] = (await once(process, 'message')) as [CreatorSetup];
const { slot, token, baseUrl, projectId } = setup;
const config = configFor(baseUrl, { projectId, token: () => token });
const provider = fleetOver(config, recordingDeps());
const { machines } = await provider.listMachines(live);
const unused = machines.find(({ reservationId }) => reservationId === slot);
if (!unused) throw new Error('the reservation is not listed');
const told = once(process, 'message');
process.send?.('ready');
await told;
const hostname = provider.hostnameFor(slot);
const creations = setup.witnesses.map((mark) =>
  provider.createMachine({ unused, hostname, witness: witness(mark) }, live),
);
const settled = await Promise.allSettled(creations);
const results = settled.map((one) => {
  if (one.status === 'fulfilled') return { id: one.value.id };
  const { code, outcome } = one.reason as { code: string; outcome: string };
  return { code, outcome };
});
process.send?.({ results } satisfies CreatorDone);
await provider.stop();
