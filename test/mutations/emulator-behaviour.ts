import { mutationsOf } from './mutation.ts';

/** What the emulator of the API does with what it is told, and how our client walks its lists. */
export const mutations = mutationsOf`
emulators/equinix/api/inputs.ts test/emulators/equinix/requests.test.ts
  emulator-empty-reservation-id-is-one: (id === '' ? [-undefined-]{+id+} : id)
  emulator-text-of-customdata-stays-text: text.trim() === '' ? {} : [-JSON.parse(text)-]{+{ text }+}
emulators/equinix/api/create.ts test/emulators/equinix/requests.test.ts
  emulator-empty-key-lists-mean-no-keys: if ([-names.length === 0-]{+order.project_ssh_keys === undefined+}) {
  emulator-machine-gets-the-untrimmed-key: keys.map(({ key }) => key[-.trim()-])
  emulator-reservation-of-another-project: if (reservation?.projectId !== [-projectId-]{+undefined+}) {
emulators/equinix/api/keys.ts test/emulators/equinix/requests.test.ts
  emulator-key-is-trimmed: const key = { id: core.ids.uuid(), label, key: text{+.trim()+}, tags
emulators/equinix/api/account.ts test/emulators/equinix/requests.test.ts
  emulator-leaving-device-holds-its-project: isIn(one)[- && !isLeaving(one)-]);
emulators/equinix/api/call.ts test/emulators/equinix/requests.test.ts
  emulator-deleted-project-is-still-seen: [-state.projects.has(projectId) && -](token.projectId
  emulator-token-of-a-project-sees-all:
    (token.projectId ?? projectId) === [-projectId-]{+(token.projectId ?? projectId)+}
emulators/equinix/api/api.ts test/emulators/equinix/requests.test.ts
  emulator-query-beats-the-body: return { {+...body, +}...Object.fromEntries(occasion.query)[-, ...body-] };
emulators/equinix/api/lists.ts test/emulators/equinix/requests.test.ts
  emulator-list-is-kept-for-ever: if (known[-?.revision === revision()-]) return
emulators/equinix/life/lifecycle.ts test/emulators/equinix/life.test.ts
  emulator-steps-go-on-after-the-end: to !== 'provisioning' && to !== 'active'{+ && to === ''+};
  emulator-deleted-device-becomes-active: if ([-device.state !== from-]{+from === ''+}) return;
emulators/equinix/life/scheduler.ts test/emulators/equinix/state.test.ts
  emulator-waits-go-on-while-it-is-away: dueAtMs: timer.dueAtMs[- + awayMs-] }
emulators/equinix/state/state-file.ts test/emulators/equinix/state.test.ts
  emulator-change-during-a-write-is-not-stored:
    if (dirty) running ??= write();\n    [-await running;-]{+if (!dirty) await running;+}
src/adapters/driver-kit/orders.ts test/adapters/driver-kit/changes.test.ts
  equinix-creations-of-one-slot-at-once:
    const unlock = [-await locks.take(key, options.signal)-]{+(): void => void [locks, key]+};
src/adapters/driver-kit/pages.ts test/adapters/driver-kit/outcome.test.ts
  equinix-two-walks-need-not-agree: if ([-agreed && -]!seen
  equinix-union-of-walks-never-counts:
    if ([-agreed && !seen.has('') && seen.size === walk.total-]{+walks < 0+})
  equinix-one-walk-with-duplicates-is-consistent: [-new Set(ids).size === ids.length && -]isWhole
  equinix-four-walks: const WALKS_MAX = [-3-]{+4+};
`;
