import { expect, test } from 'vitest';
import { windowsOf } from '../../src/config.ts';
import { windowFaults, windowsSchema } from '../../src/config/windows-schema.ts';
import { providerName } from '../../src/domain/ids.ts';
import { windowRefusal } from '../../src/domain/windows.ts';
import { testRows } from '../support/rows.ts';

const PLACE = { provider: providerName('metal'), location: 'fra', pools: ['api'] };
const windows = (given: object) => windowsOf({ windows: windowsSchema().parse(given) });
/** `open until` or `closed until`, in UTC. */
function told(given: object, at: string): string {
  const [window] = windows({ night: given });
  const { isOpen, untilMs } = window!.at(Date.parse(at));
  return `${isOpen ? 'open' : 'closed'} until ${new Date(untilMs).toISOString().slice(0, 16)}`;
}

const NIGHT = { at: '02:30', for: '1h', timezone: 'Europe/Berlin' };
const LORD_HOWE = { at: '02:15', for: '1h', timezone: 'Australia/Lord_Howe' };
/** Changes of the clock as the IANA time zone database has them. */
testRows<[string, object, string]>([
  // In winter Berlin is at +01:00, in summer at +02:00.
  ['2026-01-10T01:29:59.999Z', NIGHT, 'closed until 2026-01-10T01:30'],
  ['2026-01-10T01:30Z', NIGHT, 'open until 2026-01-10T02:30'],
  ['2026-01-10T02:29:59.999Z', NIGHT, 'open until 2026-01-10T02:30'],
  ['2026-01-10T02:30Z', NIGHT, 'closed until 2026-01-11T01:30'],
  ['2026-07-10T00:30Z', NIGHT, 'open until 2026-07-10T01:30'],
  // 2026-03-29: 02:00 becomes 03:00, so 02:30 is skipped.
  ['2026-03-29T00:59Z', NIGHT, 'closed until 2026-03-29T01:00'],
  ['2026-03-29T01:00Z', NIGHT, 'open until 2026-03-29T02:00'],
  ['2026-03-29T02:00Z', NIGHT, 'closed until 2026-03-30T00:30'],
  // 2026-10-25: 03:00 becomes 02:00, so 02:30 comes twice. The first counts.
  ['2026-10-25T00:29Z', NIGHT, 'closed until 2026-10-25T00:30'],
  ['2026-10-25T00:30Z', NIGHT, 'open until 2026-10-25T01:30'],
  ['2026-10-25T01:30Z', NIGHT, 'closed until 2026-10-26T01:30'],
  // 2026-10-04: 02:00 becomes 02:30. 2026-04-05: 02:00 becomes 01:30.
  ['2026-10-03T15:29Z', LORD_HOWE, 'closed until 2026-10-03T15:30'],
  ['2026-10-03T15:30Z', LORD_HOWE, 'open until 2026-10-03T16:30'],
  ['2026-04-04T15:45Z', LORD_HOWE, 'open until 2026-04-04T16:45'],
  // 2018-11-04: midnight becomes 01:00.
  [
    '2018-11-04T03:00Z',
    { at: '00:00', for: '1h', timezone: 'America/Sao_Paulo' },
    'open until 2018-11-04T04:00',
  ],
  // A Saturday, across midnight and a change of the clock: the length is real time.
  [
    '2026-03-29T02:59Z',
    { weekdays: ['Sat'], at: '22:00', for: '6h', timezone: 'Europe/Berlin' },
    'open until 2026-03-29T03:00',
  ],
  [
    '2026-03-29T03:00Z',
    { weekdays: ['Sat'], at: '22:00', for: '6h', timezone: 'Europe/Berlin' },
    'closed until 2026-04-04T20:00',
  ],
])('at %s the window %j is %s', (at, given, expected) => {
  expect(told(given, at)).toBe(expected);
});

testRows<[object, boolean]>([
  [{}, true],
  [{ providers: ['metal'], locations: ['fra'], pools: ['api', 'web'] }, true],
  [{ providers: ['rack'] }, false],
  [{ locations: ['ams'] }, false],
  [{ pools: ['web'] }, false],
])('a window for %j gates the machine: %s', (where, gates) => {
  const all = windows({ night: { at: '02:00', for: '1h', ...where } });
  const expected = 'its maintenance window night opens at 2026-01-11T02:00:00.000Z';
  const nowMs = Date.parse('2026-01-10T12:00Z');
  expect(windowRefusal(all, PLACE, nowMs)).toBe(gates ? expected : null);
});

test('one open window of several is enough, and the next one is named', () => {
  const all = windows({
    night: { at: '02:00', for: '1h' },
    noon: { at: '12:00', for: '1h', providers: ['metal'] },
  });
  const at = (time: string) => windowRefusal(all, PLACE, Date.parse(`2026-01-10T${time}Z`));
  expect([at('02:10'), at('12:10')]).toEqual([null, null]);
  expect(at('11:00')).toMatch(/^its maintenance window noon opens at 2026-01-10T12:00/);
});

testRows([
  [{ at: '24:00', for: '1h' }, /02:30/],
  [{ at: '02:00', for: '8d' }, /longer than 7 days/],
  [{ at: '02:00', for: '1h', timezone: 'Europe/Atlantis' }, /no time zone/],
  [{ at: '02:00', for: '1h', weekdays: [] }, /is empty/],
])('refuses the window %j', (given, why) => {
  const { error } = windowsSchema().safeParse({ night: given });
  expect(error?.issues.map(({ message }) => message).join()).toMatch(why);
});

test('reports unknown providers and pools, which would gate nothing', () => {
  const windows = { night: { providers: ['metal', 'metall'], pools: ['api'] }, x: null };
  const faults = (pools: object) => windowFaults({ windows, providers: { metal: {} }, pools });
  expect(faults({ api: {} }).map(({ path, message }) => `${path.join('.')} ${message}`)).toEqual([
    'windows.night.providers has "metall", which is not configured; give a name of providers',
  ]);
  expect(faults({})).toHaveLength(2);
});
