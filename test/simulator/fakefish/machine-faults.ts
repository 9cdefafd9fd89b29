import { expect } from 'vitest';
import {
  IMAGE,
  insert,
  eject,
  disc,
  rename,
  tagOf,
  powerOf,
  ONCE_PXE,
  CUT,
  type NumberedProof,
} from './fault-steps.ts';
import { messagesOf, ROOT } from './harness.ts';

/** What each fault of a machine and its resources does, and that it does no more than that. */
export const MACHINE_FAULTS: readonly NumberedProof[] = [
  [
    11,
    'reset accepted and ignored',
    async (fish) => {
      await fish.fault({ type: 'resetIgnored' }, { times: 1 });
      expect((await fish.reset('On')).status).toBe(204);
      await fish.fake.advance(60_000);
      expect(powerOf(fish)).toBe('Off');
      await fish.reset('On');
      expect(powerOf(fish)).toBe('PoweringOn');
    },
  ],
  [
    12,
    'graceful shutdown never ends',
    async (fish) => {
      await fish.fault({ type: 'gracefulNeverEnds' });
      await fish.start();
      expect((await fish.reset('GracefulShutdown')).status).toBe(204);
      await fish.fake.advance(3_600_000);
      expect(powerOf(fish)).toBe('On');
      await fish.reset('ForceOff');
      await fish.fake.advance(2_000);
      expect(powerOf(fish)).toBe('Off');
    },
  ],
  [
    13,
    'power state lags, or lies',
    async (fish) => {
      const { id } = await fish.fault({ type: 'powerState', lagMs: 30_000 });
      await fish.start();
      await fish.reset('ForceOff');
      await fish.fake.advance(29_000);
      expect(await fish.system()).toMatchObject({ PowerState: 'On' });
      await fish.fake.advance(3_000);
      expect(await fish.system()).toMatchObject({ PowerState: 'Off' });
      await fish.fake.removeFault(id);
      await fish.fault({ type: 'powerState', shows: null });
      expect(await fish.system()).toMatchObject({ PowerState: null });
    },
  ],
  [
    14,
    '409 on On',
    async (fish) => {
      await fish.fault({ type: 'onConflict' }, { times: 2 });
      for (const status of [409, 409, 204]) expect((await fish.reset('On')).status).toBe(status);
    },
  ],
  [
    15,
    'refused because it is so already',
    async (fish) => {
      await fish.fault({ type: 'sameState', code: 400 });
      expect((await fish.reset('ForceOff')).status).toBe(400);
      await fish.start();
      expect((await fish.reset('On')).status).toBe(400);
      expect((await fish.reset('ForceOff')).status).toBe(204);
    },
  ],
  [
    16,
    'allowable values missing or wrong',
    async (fish) => {
      const shown = async () => JSON.stringify(await fish.system());
      expect(await shown()).toContain('"ResetType@Redfish.AllowableValues":["On"');
      await fish.fault({ type: 'allowableValues', of: 'reset', values: null });
      expect(await shown()).not.toContain('ResetType@Redfish');
      await fish.fault({ type: 'allowableValues', of: 'boot', values: ['Floppy'] });
      expect(await shown()).toContain(
        '"BootSourceOverrideTarget@Redfish.AllowableValues":["Floppy"]',
      );
      expect((await fish.reset('On')).status).toBe(204);
    },
  ],
  [
    17,
    'override ignored or sticky',
    async (fish) => {
      await fish.fault({ type: 'override', does: 'ignored' }, { times: 1 });
      expect((await fish.override(ONCE_PXE)).status).toBe(200);
      expect(await fish.system()).toMatchObject({
        Boot: { BootSourceOverrideEnabled: 'Disabled' },
      });
      await fish.fault({ type: 'override', does: 'sticky' });
      await fish.override(ONCE_PXE);
      await fish.start();
      expect(await fish.system()).toMatchObject({ Boot: ONCE_PXE });
    },
  ],
  [
    18,
    'ejected, and shown as inserted',
    async (fish) => {
      await fish.fault({ type: 'staleMedia' });
      await insert(fish);
      await eject(fish);
      expect(await disc(fish)).toMatchObject({ Inserted: true, Image: IMAGE });
      expect(fish.fake.bmcs()[0]!.systems[0]!.media[0]!.image).toBeNull();
      expect((await insert(fish)).status).toBe(204);
    },
  ],
  [
    19,
    'media not fetched',
    async (fish) => {
      await fish.fault({ type: 'mediaNotFetched' }, { times: 1 });
      expect((await insert(fish)).status).toBe(204);
      expect(await disc(fish)).toMatchObject({ Inserted: false });
      await insert(fish);
      expect(await disc(fish)).toMatchObject({ Inserted: true });
    },
  ],
  [
    20,
    '412 always, or to weak tags',
    async (fish) => {
      const tag = async () => String((await fish.ask('GET', fish.path)).headers.etag);
      const { id } = await fish.fault({ type: 'etag', does: 'refused' });
      expect((await rename(fish, 'a', { 'if-match': await tag() })).status).toBe(412);
      expect((await rename(fish, 'b')).status).toBe(200);
      await fish.fake.removeFault(id);
      await fish.fault({ type: 'etag', does: 'weak' });
      const weak = await tag();
      expect(weak).toMatch(/^W\/"/);
      expect((await rename(fish, 'c', { 'if-match': weak })).status).toBe(412);
      expect((await rename(fish, 'd', { 'if-match': weak.slice(2) })).status).toBe(200);
    },
  ],
  [
    21,
    'refused during POST',
    async (fish) => {
      await fish.fault({ type: 'postRefusal' }, { times: 2 });
      for (const status of [400, 400, 200]) {
        expect((await fish.override(ONCE_PXE)).status).toBe(status);
      }
    },
  ],
  [
    22,
    'a task that ends, never ends, or vanishes',
    async (fish) => {
      const start = async (does: 'ends' | 'neverEnds' | 'vanishes') => {
        await fish.fault({ type: 'task', does, ms: 6_000, retryAfterS: 2 }, { times: 1 });
        const { status, headers } = await rename(fish);
        expect([status, headers['retry-after']]).toEqual([202, '2']);
        return async () => (await fish.ask('GET', String(headers.location))).status;
      };
      const polls = [await start('ends'), await start('neverEnds'), await start('vanishes')];
      const statuses = () => Promise.all(polls.map((poll) => poll()));
      await fish.fake.advance(5_999);
      expect(await statuses()).toEqual([202, 202, 202]);
      await fish.fake.advance(1);
      expect(await statuses()).toEqual([204, 202, 404]);
      const { body } = await fish.ask('GET', `${ROOT}/TaskService/Tasks`);
      expect(body['Members@odata.count']).toBe(2);
    },
  ],
  [
    23,
    'the BMC restarts',
    async (fish) => {
      await fish.fault({ type: 'bmcRestart', ms: 60_000 });
      await expect(fish.system()).rejects.toThrow(CUT);
      await fish.fake.advance(20_000);
      expect((await fish.ask('GET', fish.path)).status).toBe(404);
      await fish.fake.advance(40_000);
      expect((await fish.ask('GET', fish.path)).status).toBe(200);
    },
  ],
  [
    24,
    'another blade',
    async (fish) => {
      await fish.fault({ type: 'bladeSwapped', serial: 'OTHER', uuid: 'another' });
      expect(await fish.system()).toMatchObject({ SerialNumber: 'OTHER', UUID: 'another' });
    },
  ],
  [
    25,
    'asset tag read only, cut, or lost at a restart',
    async (fish) => {
      await fish.fault({ type: 'assetTag', does: 'readOnly' }, { times: 1 });
      expect(messagesOf(await rename(fish))).toEqual(['PropertyNotWritable']);
      await fish.fault({ type: 'assetTag', does: 'truncated', length: 4 });
      await rename(fish);
      expect(await tagOf(fish)).toBe('rack');
      await fish.fault({ type: 'bmcRestart', ms: 3 });
      await fish.fake.advance(3);
      expect(await tagOf(fish)).toBe('rack');
      await fish.fault({ type: 'assetTag', does: 'lostAtRestart' });
      await fish.fault({ type: 'bmcRestart', ms: 3 });
      await fish.fake.advance(3);
      expect(await tagOf(fish)).toBe('');
    },
  ],
  [
    26,
    'not licensed',
    async (fish) => {
      await fish.fault({ type: 'licence' });
      const refused = await insert(fish);
      expect([refused.status, messagesOf(refused)]).toEqual([403, ['OemLicenseNotPassed']]);
      expect((await rename(fish)).status).toBe(200);
    },
  ],
  [
    27,
    'two requests at once',
    async (fish) => {
      await fish.fault({ type: 'oneAtATime' });
      expect((await fish.ask('GET', fish.path)).status).toBe(200);
      await fish.fault({ type: 'latency', ms: 1_000 }, { match: { method: 'PATCH' } });
      const slow = rename(fish);
      await expect.poll(() => fish.fake.requests().at(-1)?.fate).toBe('open');
      expect((await fish.ask('GET', fish.path)).status).toBe(503);
      await fish.fake.advance(1_000);
      await slow;
      expect(fish.fake.bmcs()[0]!.requestsMost).toBe(2);
      expect((await fish.ask('GET', fish.path)).status).toBe(200);
    },
  ],
  [
    28,
    'redirected to another host',
    async (fish) => {
      await fish.fault({ type: 'redirect', to: 'https://elsewhere.test' }, { times: 1 });
      const { status, headers } = await fish.ask('GET', fish.path);
      expect([status, headers.location]).toEqual([307, `https://elsewhere.test${fish.path}`]);
    },
  ],
  [
    30,
    'clock wrong by hours',
    async (fish) => {
      await fish.fault({ type: 'clock', offMs: -7_200_000 });
      const { body, headers } = await fish.ask('GET', `${ROOT}/Managers/BMC`);
      expect(body['DateTime']).toBe('2025-12-31T22:00:00.000Z');
      expect(Date.parse(headers.date!)).toBe(Date.UTC(2025, 11, 31, 22));
      expect(await fish.system()).toMatchObject({ LastResetTime: '2025-12-31T22:00:00.000Z' });
    },
  ],
];
