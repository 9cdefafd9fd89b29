import { mistakesIn, type Mutation } from './mutation.ts';

const DRIVER = 'src/adapters/provider/latitude';
const TESTS = 'test/adapters/provider/latitude';

/** The driver for servers at Latitude.sh. */
export const mutations: readonly Mutation[] = [
  ...mistakesIn(
    `${DRIVER}/creation.ts`,
    [`${TESTS}/creation.test.ts`, `${TESTS}/kill-table.test.ts`],
    [
      [
        'latitude-a-stranger-is-taken-for-ours',
        "owner.kind === 'ours' && owner.record.witness === witness",
        "owner.kind === 'ours' || witness !== ''",
      ],
      ['latitude-one-look-is-enough', 'if (clock.now() >= untilMs) empty += 1;', 'empty += 1;'],
      [
        'latitude-a-lost-order-is-not-looked-for',
        'const found = await lookFor(order);\n      if (found) return found;\n',
        '',
      ],
      [
        'latitude-a-refused-order-leaves-its-record',
        'if (isUnsent && !wasAmbiguous) await drop(order, record);',
        'if (isUnsent && wasAmbiguous) await drop(order, record);',
      ],
      [
        'latitude-young-records-of-others-do-not-count',
        'if (young) throw raceLost(place);',
        'if (young && young.id === place.slot) throw raceLost(place);',
      ],
      [
        'latitude-records-of-other-sets-are-removed',
        'if (set === instanceSetId) await routes.deleteUserData(call, id);',
        'if (set !== place.slot) await routes.deleteUserData(call, id);',
      ],
      [
        'latitude-resumed-makes-a-second-record',
        'const mine = known.find(isMine);',
        'const mine = known.find((record) => isMine(record) && !request.resumed);',
      ],
    ],
  ),
  ...mistakesIn(
    `${DRIVER}/creation.ts`,
    [`${TESTS}/foreign.test.ts`],
    [
      [
        'latitude-a-record-of-a-machine-unseen-by-name-is-removed',
        'if (there) throw taken(place, there.server);',
        'void there;',
      ],
    ],
  ),
  ...mistakesIn(
    `${DRIVER}/search.ts`,
    [`${TESTS}/foreign.test.ts`],
    [
      [
        'latitude-a-name-proves-an-order',
        'if (await ownership.isInstalledWith(call, server, owner.record)) continue;',
        'continue;',
      ],
    ],
  ),
  ...mistakesIn(
    `${DRIVER}/server-view.ts`,
    [`${TESTS}/foreign.test.ts`],
    [
      [
        'latitude-a-name-gives-a-right-to-change',
        'if (await ownership.isInstalledWith(call, server, record)) return;',
        'if (ownership) return;',
      ],
    ],
  ),
  ...mistakesIn(
    `${DRIVER}/record-writer.ts`,
    [`${TESTS}/meanwhile.test.ts`],
    [
      [
        'latitude-what-was-written-meanwhile-is-lost',
        'if (call.now() - readMs < JUST_READ_MS) return;',
        'if (call.now() >= readMs) return;',
      ],
      [
        'latitude-a-record-taken-up-again-is-swept',
        'if (found && readRecord(found)?.t !== mark?.t) throw',
        'if (found && mark === undefined) throw',
      ],
      [
        'latitude-an-empty-budget-leaves-records',
        '        return await routes.deleteUserData(call, id);',
        '        void call;',
      ],
    ],
  ),
  ...mistakesIn(
    `${DRIVER}/ownership.ts`,
    [`${TESTS}/listing.test.ts`],
    [
      [
        'latitude-another-sets-record-is-ours',
        'record.set === instanceSetId ? ',
        "record.set !== '' ? ",
      ],
      [
        'latitude-the-younger-double-is-ours',
        'servers.toSorted(byAge)',
        'servers.toSorted((a, b) => -byAge(a, b))',
      ],
      ['latitude-one-record-marks-two-servers', 'id === named && !claimed.has(id)', 'id === named'],
      [
        'latitude-a-double-needs-no-proof',
        'if (marks.length === 1 && servers.length === 1) {',
        'if (marks.length === 1) {',
      ],
    ],
  ),
  ...mistakesIn(
    `${DRIVER}/stock.ts`,
    [`${TESTS}/listing.test.ts`],
    [
      [
        'latitude-a-slot-is-free-before-its-server-shows-up',
        ' && !isAwaited(place, inventory)',
        '',
      ],
      ['latitude-a-used-slot-is-free', '!taken.has(place.slot) && ', ''],
      [
        'latitude-a-listing-with-gaps-is-whole',
        'complete: servers.complete && table.complete,',
        'complete: table.complete,',
      ],
    ],
  ),
  ...mistakesIn(
    `${DRIVER}/client/lists.ts`,
    [`${TESTS}/listing.test.ts`, `${TESTS}/lists.test.ts`],
    [
      [
        'latitude-a-short-page-is-the-last',
        'isLast: count === 0 || seen >= total',
        'isLast: count < size || seen >= total',
      ],
      [
        'latitude-one-walk-without-totals',
        "const isWhole = isOnce && seen === before && !unread.has('');",
        "const isWhole = isOnce && !unread.has('');",
      ],
      [
        'latitude-a-refused-size-is-asked-for-again',
        'size = Math.ceil(size / 2);',
        'size = Math.ceil(size / 1);',
      ],
    ],
  ),
  ...mistakesIn(
    `${DRIVER}/changes.ts`,
    [`${TESTS}/changes.test.ts`, `${TESTS}/sweeping.test.ts`],
    [
      [
        'latitude-what-is-off-is-switched-off',
        'if (status === want) return;',
        "if (status === '') return;",
      ],
      [
        'latitude-a-reboot-of-what-is-off',
        "status === 'off' ? 'power_on' : 'reboot'",
        "status === '' ? 'power_on' : 'reboot'",
      ],
      [
        'latitude-a-state-that-passes-is-final',
        'if (isPassing(status)) throw notWhile(seen.server);\n      await act',
        'await act',
      ],
      [
        'latitude-lost-power-is-not-looked-for',
        'if (!isLost || !(await becomes(call, id, want))) throw error;',
        'throw error;',
      ],
      ['latitude-tags-keep-an-old-script', "isOld ? 'cut' : 'keep'", "isOld ? 'keep' : 'keep'"],
      ['latitude-tags-cut-a-young-script', "isOld ? 'cut' : 'keep'", "isOld ? 'cut' : 'cut'"],
    ],
  ),
  ...mistakesIn(
    `${DRIVER}/reinstallation.ts`,
    [`${TESTS}/changes.test.ts`, `${TESTS}/kill-table.test.ts`],
    [
      [
        'latitude-a-lost-reinstallation-removes-a-record',
        'if (!isApiError(error) || !error.ambiguous) await',
        'await',
      ],
      ['latitude-the-old-record-stays', '    await removeAnyway(call, id, record.id);\n', ''],
      [
        'latitude-a-lost-reinstallation-is-unknown',
        'if (isLost && (await isUnderWay(call, id, order.userDataId))) return;',
        'if (isLost && id === order.userDataId) return;',
      ],
      [
        'latitude-the-new-record-has-the-old-time',
        't: clock.now(), hasScript: true',
        'hasScript: true',
      ],
    ],
  ),
  ...mistakesIn(
    `${DRIVER}/give-back.ts`,
    [`${TESTS}/give-back.test.ts`, `${TESTS}/kill-table.test.ts`],
    [
      [
        'latitude-a-locked-server-is-deleted',
        'if (seen.server.locked) throw',
        "if (seen.server.locked && id === '') throw",
      ],
      [
        'latitude-an-empty-search-is-believed',
        'if ((await search.everywhere(call, hostname)).length > 0) return false;\n',
        '',
      ],
      [
        'latitude-a-young-record-is-removed',
        '< config.settleMs)) return false;',
        '< 0)) return false;',
      ],
      [
        'latitude-records-outlive-their-server',
        'for (const { id } of ours) await writer.remove(call, id);',
        'for (const { id } of []) await writer.remove(call, id);',
      ],
      [
        'latitude-a-leaving-machine-is-scheduled-again',
        'if (server.scheduled_deletion_at === undefined) {',
        "if (id !== '') {",
      ],
      [
        'latitude-a-leaving-machine-stays-on',
        "server.status === 'on' ? await",
        "server.status === '' ? await",
      ],
    ],
  ),
  ...mistakesIn(
    `${DRIVER}/sweeping.ts`,
    [`${TESTS}/sweeping.test.ts`],
    [
      [
        'latitude-a-dry-run-sweeps',
        'if (dryRun || (await writer.removeIfAsRead(call, record))) left.push(record);',
        'if (await writer.removeIfAsRead(call, record)) left.push(record);',
      ],
      [
        'latitude-records-of-others-are-swept',
        'set === config.instanceSetId &&\n        hostname',
        'hostname',
      ],
      [
        'latitude-gaps-are-swept',
        'if (!complete || unreadable.length > 0) return [];',
        'if (unreadable.length > 0) return [];',
      ],
      [
        'latitude-a-machine-that-is-not-up-loses-its-script',
        "|| server.status !== 'on') return [];",
        ') return [];',
      ],
    ],
  ),
  ...mistakesIn(
    `${DRIVER}/record.ts`,
    [`${TESTS}/record.test.ts`],
    [
      [
        'latitude-a-description-need-not-agree',
        'tags[SET_ID_TAG] === claim.set &&',
        "tags[SET_ID_TAG] !== '' &&",
      ],
      [
        'latitude-a-witness-need-not-agree',
        '(tags[WITNESS_TAG] ?? NO_WITNESS) === claim.witness',
        "claim.witness !== ''",
      ],
    ],
  ),
  ...mistakesIn(
    `${DRIVER}/client/answers.ts`,
    [`${TESTS}/creation.test.ts`, `${TESTS}/give-back.test.ts`, `${TESTS}/preparation.test.ts`],
    [
      [
        'latitude-a-limit-is-a-stock',
        "if (kind === 'Capacity' && says(messages, LIMIT)) return 'limit';",
        '',
      ],
      [
        'latitude-a-forbidden-key-is-shown-again',
        "says(messages, LOCKED) ? 'Forbidden' : 'Unauthorized'",
        "'Forbidden'",
      ],
      [
        'latitude-a-lock-is-a-refused-key',
        "says(messages, LOCKED) ? 'Forbidden' : 'Unauthorized'",
        "'Unauthorized'",
      ],
      [
        'latitude-the-time-in-the-body-is-not-heeded',
        'inBody ? inBody.retry_after * 1_000 : waitAskedMs || USUAL_WAIT_MS',
        'waitAskedMs || 1_000',
      ],
    ],
  ),
  ...mistakesIn(
    `${DRIVER}/client/api.ts`,
    [`${TESTS}/listing.test.ts`, `${TESTS}/secrets.test.ts`, `${TESTS}/creation.test.ts`],
    [
      [
        'latitude-reads-and-writes-wait-together',
        "method === 'GET' ? 'reads' : 'writes'",
        "method === 'GET' ? 'writes' : 'writes'",
      ],
      ['latitude-scripts-are-no-secrets', 'secretsIn: rememberSecrets(),\n', ''],
    ],
  ),
];
