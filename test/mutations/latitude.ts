import { mutationsOf } from './mutation.ts';

/** The driver for servers at Latitude.sh. */
export const mutations = mutationsOf`
src/adapters/provider/latitude/creation.ts test/adapters/provider/latitude/creation.test.ts test/adapters/provider/dies-at-every-change.test.ts
  latitude-a-stranger-is-taken-for-ours:
    owner.kind === 'ours' [-&& owner.record.witness === witness-]{+|| witness !== ''+}
  latitude-one-look-is-enough: [-if (clock.now() >= untilMs) -]empty += 1;
  latitude-a-lost-order-is-not-looked-for:
    [-const found = await lookFor(order);\n      if (found) return found;\n-]
  latitude-a-refused-order-leaves-its-record: if (isUnsent && [-!-]wasAmbiguous) await drop(order, record);
  latitude-young-records-of-others-do-not-count:
    if (young{+ && young.id === place.slot+}) throw raceLost(place);
  latitude-records-of-other-sets-are-removed:
    if (set [-=== instanceSetId-]{+!== place.slot+}) await routes.deleteUserData(call, id);
  latitude-resumed-makes-a-second-record:
    const mine = known.find([-isMine-]{+(record) => isMine(record) && !request.resumed+});
src/adapters/provider/latitude/creation.ts test/adapters/provider/latitude/changes.test.ts
  latitude-a-record-of-a-machine-unseen-by-name-is-removed:
    [-if (there) throw taken(place, there.server)-]{+void there+};
src/adapters/provider/latitude/routes.ts test/adapters/provider/latitude/creation.test.ts
  latitude-a-longer-name-is-the-same:
    items.filter((found) => [-sameName(found.hostname, hostname)-]{+hostname !== found.id+});
src/adapters/provider/latitude/ownership.ts test/adapters/provider/latitude/changes.test.ts
  latitude-a-name-proves-an-order:
    [-if (await ownership.isInstalledWith(call, server, owner.record)) -]continue;
src/adapters/provider/latitude/view.ts test/adapters/provider/latitude/changes.test.ts
  latitude-a-name-gives-a-right-to-change:
    if ([-await ownership.isInstalledWith(call, server, record)-]{+ownership+}) return;
src/adapters/provider/latitude/record-writer.ts test/adapters/provider/latitude/creation.test.ts
  latitude-what-was-written-meanwhile-is-lost:
    if (call.now() [-- readMs < JUST_READ_MS-]{+>= readMs+}) return;
  latitude-a-record-taken-up-again-is-swept:
    if (found && [-readRecord(found)?.t !== mark?.t-]{+mark === undefined+}) throw
  latitude-an-empty-budget-leaves-records:
    \_\_\_\_\_\_\_\_[-return await routes.deleteUserData(call, id)-]{+void call+};
src/adapters/provider/latitude/ownership.ts test/adapters/provider/latitude/listing.test.ts
  latitude-another-sets-record-is-ours: record.set [-=== instanceSetId-]{+!== ''+} ?\_
  latitude-the-younger-double-is-ours: servers.toSorted([-byAge-]{+(a, b) => -byAge(a, b)+})
  latitude-one-record-marks-two-servers: id === named[- && !claimed.has(id)-]
  latitude-a-double-needs-no-proof: if (marks.length === [-1 && servers.length === -]1) {
src/adapters/provider/latitude/stock.ts test/adapters/provider/latitude/listing.test.ts test/adapters/provider/latitude/settings.test.ts
  latitude-a-slot-is-free-before-its-server-shows-up: [- && !isAwaited(place, inventory)-]
  latitude-a-used-slot-is-free: [-!taken.has(place.slot) && -]
  latitude-a-listing-with-gaps-is-whole: complete: [-servers.complete && -]table.complete,
src/adapters/driver-kit/pages.ts test/adapters/provider/latitude/listing.test.ts
  latitude-one-walk-without-totals: totals.has(null) ? [-allIds === idsBefore-]{+allIds !== null+} :
src/adapters/provider/latitude/routes.ts test/adapters/provider/latitude/listing.test.ts
  latitude-a-short-page-is-the-last: isLast = count [-=== 0-]{+< size+} || (total
  latitude-a-refused-size-is-asked-for-again: size = Math.ceil(size / [-2-]{+1+});
src/adapters/provider/latitude/changes.ts test/adapters/provider/latitude/changes.test.ts test/adapters/provider/latitude/record.test.ts
  latitude-what-is-off-is-switched-off: if (seen.server.status === [-want-]{+''+}) return;
  latitude-a-reboot-of-what-is-off: status === '[-off-]' ? 'power_on' : 'reboot'
  latitude-a-state-that-passes-is-final:
    [-if (isPassing(server.status ?? '')) throw notWhile(server);\n    -]try
  latitude-lost-power-is-not-looked-for: waitsMs: [-isSeen ? LOOKS_AFTER_MS : -][],
  latitude-tags-keep-an-old-script: isOld ? '[-cut-]{+keep+}' : 'keep'
  latitude-tags-cut-a-young-script: isOld ? 'cut' : '[-keep-]{+cut+}'
src/adapters/provider/latitude/changes.ts test/adapters/provider/latitude/changes.test.ts test/adapters/provider/dies-at-every-change.test.ts
  latitude-a-lost-reinstallation-removes-a-record: [-if (!isUnknown) -]await
  latitude-the-old-record-stays: [-    await removeAnyway(call, id, record.id);\n-]
  latitude-a-lost-reinstallation-is-unknown:
    ([-await isUnderWay(call, id, -]{+id === +}order.userDataId[-)-]) ?
  latitude-the-new-record-has-the-old-time: [-t: clock.now(), -]hasScript: true
src/adapters/provider/latitude/give-back.ts test/adapters/provider/latitude/changes.test.ts test/adapters/provider/latitude/settings.test.ts test/adapters/provider/dies-at-every-change.test.ts
  latitude-a-locked-server-is-deleted: if (seen.server.locked{+ && id === ''+}) throw
  latitude-an-empty-search-is-believed:
    [-if ((await search.everywhere(call, hostname)).length > 0) return false;\n-]
  latitude-a-young-record-is-removed: < [-config.settle-]{+0+})) return false;
  latitude-records-outlive-their-server: for (const { id } of [-ours-]{+[]+}) await writer.remove(call, id);
  latitude-a-leaving-machine-is-scheduled-again:
    if ([-server.scheduled_deletion_at === undefined-]{+id !== ''+}) {
  latitude-a-leaving-machine-stays-on: server.status === '[-on-]' ? await
src/adapters/provider/latitude/stock.ts test/adapters/provider/latitude/record.test.ts
  latitude-a-dry-run-sweeps:
    if ([-dryRun || (-]await writer.removeIfAsRead(call, record))[-)-] left.push(record);
  latitude-records-of-others-are-swept: [-set === config.instanceSetId &&\n        -]hostname
  latitude-gaps-are-swept: if ([-!complete || -]unreadable.length > 0) return [];
  latitude-a-machine-that-is-not-up-loses-its-script: [-|| server.status !== 'on'-]) return [];
src/adapters/provider/latitude/records.ts test/adapters/provider/latitude/record.test.ts
  latitude-a-description-need-not-agree: tags[SET_ID_TAG] [-=== claim.set-]{+!== ''+} &&
  latitude-a-witness-need-not-agree:
    [-(tags[WITNESS_TAG] ?? NO_WITNESS) === claim.witness-]{+claim.witness !== ''+}
src/adapters/provider/latitude/api.ts test/adapters/provider/latitude/creation.test.ts test/adapters/provider/latitude/changes.test.ts test/adapters/provider/latitude/settings.test.ts
  latitude-a-limit-is-a-stock:
    [-if (says(messages, LIMIT)) return { kind: 'transient', quota: true };\n    -]return says
  latitude-a-forbidden-key-is-shown-again:
    [-if (status === 403) return { kind: 'auth' };\n    -]if (status !== 422)
  latitude-a-lock-is-a-refused-key: (status === [-403 || status === -]422) && says(messages, LOCKED)
  latitude-the-time-in-the-body-is-not-heeded:
    [-inBody ? inBody.retry_after * 1_000 : -]waitAskedMs || [-USUAL_WAIT_MS-]{+1_000+}
src/adapters/provider/latitude/api.ts test/adapters/provider/latitude/listing.test.ts test/adapters/provider/latitude/record.test.ts test/adapters/provider/latitude/creation.test.ts
  latitude-reads-and-writes-wait-together: method === 'GET' ? '[-reads-]{+writes+}' : 'writes'
  latitude-scripts-are-no-secrets: [-secretsIn: rememberSecrets(),\n-]
`;
