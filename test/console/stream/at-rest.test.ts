import { expect, test } from 'vitest';
import { ANONYMOUS } from '../../../src/console/access/port.ts';
import { viewOf } from '../../../src/console/stream/stream.ts';
import { slot } from '../../../src/domain/ids.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { AT_MS, machine, scriptedFleet } from '../scripted-fleet.ts';
import { createPageModel, watched } from './page-model.ts';

/** The maximum that the page follows at once. */
const ROWS = 200;
/** Default period of agents' reports. */
const HEARTBEAT_SECONDS = 30;
const BYTES_PER_SECOND_MAX = 200;
const idOf = (at: number) => `06aa1c5e-7c35-4b4e-9d3c-${String(at).padStart(12, '0')}`;

test('sends a page of machines that only report at most 200 bytes a second, with each report time', async () => {
  const clock = createSimulatedClock();
  const running = { state: 'Running', substate: 'healthy', lastHeartbeatAtMs: AT_MS } as const;
  const fleet = scriptedFleet(
    ...Array.from({ length: ROWS }, (_, at) => machine(idOf(at), running)),
  );
  const server = watched({ fleet, clock });
  const asked = { view: 'list', filter: '', sort: 'slot', offset: 0, limit: ROWS } as const;
  const page = createPageModel();
  const response = page.connect();
  let bytes = 0;
  const { write } = response;
  response.write = ((text: string) => {
    bytes += text.length;
    return write(text);
  }) as typeof write;
  const view = await viewOf(asked, server, null);
  server.hub.attach({ response, headers: {}, person: ANONYMOUS, view });
  const first = bytes;
  const SECONDS = 60;
  for (let second = 0; second < SECONDS; second += 1) {
    for (let at = second % HEARTBEAT_SECONDS; at < ROWS; at += HEARTBEAT_SECONDS) {
      fleet.set(slot('equinix', idOf(at)), { lastHeartbeatAtMs: AT_MS + second * 1_000 + at });
    }
    clock.increment(1_000);
  }
  clock.increment(5_000);
  expect(bytes - first).toBeLessThanOrEqual((SECONDS + 5) * BYTES_PER_SECOND_MAX);
  const heard = page.window().rows.map((row) => (row as typeof running).lastHeartbeatAtMs - AT_MS);
  expect(heard).toEqual(
    Array.from({ length: ROWS }, (_, at) => ((at % HEARTBEAT_SECONDS) + 30) * 1_000 + at),
  );
  response.destroy();
  server.close();
});
