import { mutationsOf } from './mutation.ts';

/** What the emulator of the API does with what it is told, and how our client walks its lists. */
export const mutations = mutationsOf({
  'emulators/equinix/api/inputs.ts test/emulators/equinix/creation.test.ts': {
    'emulator-empty-reservation-id-is-one':
      'hardware_reservation_id: z.[-union([noText, z.string()]-]{+string(+}).optional(),',
    'emulator-text-of-customdata-stays-text':
      "text.trim() === '' ? {} : [-JSON.parse(text)-]{+{ text }+}",
  },
  'emulators/equinix/api/ssh-keys.ts test/emulators/equinix/creation.test.ts': {
    'emulator-empty-key-lists-mean-no-keys':
      'named.every((list) => [-(list ?? []).length === 0-]{+list === undefined+})',
    'emulator-no-ssh-keys-beats-the-lists': '(list ?? []).length === 0){+ || body.no_ssh_keys+}) {',
  },
  'emulators/equinix/api/ssh-keys.ts test/emulators/equinix/requests.test.ts': {
    'emulator-key-is-trimmed': '    key: text{+.trim()+},\n',
  },
  'emulators/equinix/api/device-create.ts test/emulators/equinix/creation.test.ts': {
    'emulator-create-ignores-the-stock':
      'fitting.[-find((code) => leftOnDemand(core, code, body.plan) > -]{+at(+}0)',
    'emulator-machine-gets-the-untrimmed-key': 'keys.map((key) => key.key[-.trim()-])',
  },
  'emulators/equinix/api/account-routes.ts test/emulators/equinix/admin.test.ts': {
    'emulator-leaving-device-holds-its-project':
      '[-!devices.every(isLeaving)-]{+devices.length > 0+}',
  },
  'emulators/equinix/api/access.ts test/emulators/equinix/admin.test.ts': {
    'emulator-deleted-project-is-still-seen':
      'if (!project[- || project.deleted-]) throw notFound();',
  },
  'emulators/equinix/lifecycle/lifecycle.ts test/emulators/equinix/admin.test.ts': {
    'emulator-deleted-project-stays-for-ever': '[-    forgetEmptied(core, device.projectId);\n-]',
  },
  'emulators/equinix/lifecycle/lifecycle.ts test/emulators/equinix/creation.test.ts': {
    'emulator-termination-ignores-the-lock': '[-!device.locked && -]!isLeaving(device)',
    'emulator-termination-outlives-its-device': {
      change: '[-    scheduler.cancel(terminationOf(device.id));\n-]',
      equivalent: 'the timer finds no device when it is due; cancelled, it is only gone earlier',
    },
  },
  'emulators/equinix/state/state.ts test/emulators/equinix/creation.test.ts': {
    'emulator-termination-ends-with-the-state': '[-`termination of ${deviceId}`-]{+deviceId+}',
  },
  'emulators/equinix/foundation.ts test/emulators/equinix/state.test.ts': {
    'emulator-termination-waits-with-the-file':
      "timer.[-kind === 'terminate'-]{+id < 0+} ? timer : ",
  },
  'emulators/equinix/state/addresses.ts test/emulators/equinix/creation.test.ts': {
    'emulator-networks-overlap': 'state.addressCount = first + [-size-]{+1+};',
  },
  'emulators/equinix/api/stock.ts test/emulators/equinix/creation.test.ts': {
    'emulator-capacity-forgets-what-is-taken': 'knobs.onDemandStock[- - taken.length-]',
  },
  'emulators/equinix/api/stock.ts test/emulators/equinix/requests.test.ts': {
    'emulator-capacity-counts-reservations': '[-      one.reservationId === null &&\n-]',
  },
  'emulators/equinix/http/pipeline.ts test/emulators/equinix/requests.test.ts': {
    'emulator-capacity-needs-a-right-to-change': "route.method !== 'GET'[- && !route.reads-];",
  },
  'emulators/equinix/http/pipeline.ts test/emulators/equinix/admin.test.ts': {
    'emulator-journal-shows-secrets-of-the-query':
      '[-maskSecrets(-]Object.fromEntries(queryOf(request))[-)-]',
  },
  'emulators/equinix/http/request.ts test/emulators/equinix/requests.test.ts': {
    'emulator-query-beats-the-body':
      '{ ...{+objectOf(request), ...+}Object.fromEntries(told)[-, ...objectOf(request) -]{+ +}}',
  },
  'src/adapters/provider/core/orders.ts test/adapters/provider/core/changes.test.ts': {
    'equinix-creations-of-one-slot-at-once':
      'const unlock = [-await locks.take(key, options.signal)-]{+(): void => void [locks, key]+};',
  },
  'src/adapters/http/pages.ts test/adapters/http/pages.test.ts': {
    'equinix-two-walks-need-not-agree': 'if ([-agreed && -]!seen',
    'equinix-union-of-walks-never-counts':
      "if ([-agreed && !seen.has('') && seen.size === walk.total-]{+walks < 0+})",
    'equinix-one-walk-with-duplicates-is-consistent':
      '[-new Set(ids).size === ids.length && -]size === total',
    'equinix-four-walks': 'const WALKS_MAX = [-3-]{+4+};',
  },
});
