import { mutationsOf } from './mutation.ts';

/** Machines behind BMCs: whose they are, what is sent, and what is believed of it. */
export const mutations = mutationsOf`
src/adapters/provider/redfish/rack.ts test/adapters/provider/redfish/reboot.test.ts -t vector 16
  redfish-anybodys-blade: if (wrong{+ && entry.bmc === ''+}) {
src/adapters/provider/redfish/rack.ts test/adapters/provider/redfish/power.test.ts -t product number
  redfish-a-product-number-is-a-serial:
    [-/dell/i.test(manufacturer ?? '') ? sku : null-]{+manufacturer === null ? null : sku+}
src/adapters/provider/redfish/client/system.ts test/adapters/provider/redfish/listing.test.ts -t the collection lists
  redfish-gone-though-listed: if (!isBelieved[- || (await isListed(wire, named))-]) {
src/adapters/provider/redfish/client/errors.ts test/adapters/provider/redfish/reboot.test.ts -t a missing reset as a missing machine
  redfish-a-part-is-the-machine:
    if (isAbsence(refusal)) return [-changing ? 'transient' : 'not-implemented-]{+'not-found+}';
src/adapters/provider/redfish/changes.ts test/adapters/provider/redfish/reboot.test.ts -t vector 28
  redfish-foreign-is-rebooted: [-call.requireOurs(see(entry, system)-]{+if (call) see(entry, system+});
src/adapters/provider/redfish/changes.ts test/adapters/provider/redfish/reboot.test.ts -t vector 17
  redfish-override-is-left: bootsDisk(want) {+&& !call +}? await
src/adapters/provider/redfish/changes.ts test/adapters/provider/redfish/reboot.test.ts -t vector 15
  redfish-lost-answer-is-a-refusal: if (error.outcome === 'unknown'{+ && sent.type === ''+}) {
  redfish-unknown-is-not-told:
    result of \${sent.type} is unknown\`, {\n      cause: error,[-\n      outcome: 'unknown',-]
src/adapters/provider/redfish/changes.ts test/adapters/provider/redfish/reboot.test.ts -t before the effect of the previous
  redfish-orders-overtake: const earlier = [-unproved(entry, found)-]{+null as Sent | null+};
src/adapters/provider/redfish/changes.ts test/adapters/provider/redfish/reboot.test.ts -t changes nothing
  redfish-reboots-into-what-stays: {+if (reason !== undefined) +}throw stays(left, reason);{+\n  return now;+}
src/adapters/provider/redfish/changes.ts test/adapters/provider/redfish/reboot.test.ts -t is refused
  redfish-reboots-into-what-is-not-cleared:
    {+if (reason === undefined) +}throw stays(left, reason);{+\n  return now;+}
src/adapters/provider/redfish/changes.ts test/adapters/provider/redfish/reboot.test.ts -t sushy-tools
  redfish-clears-in-one-way: [-    whole('Hdd', 'Once'),\n-]
src/adapters/provider/redfish/changes.ts test/adapters/provider/redfish/reboot.test.ts -t only the settings
  redfish-settings-are-not-read:
    return pending && [-leadsElsewhere(-]pending.boot[-) -]{+.target === null +}? pending.boot : null;
src/adapters/provider/redfish/changes.ts test/adapters/provider/redfish/power.test.ts -t Supermicro
  redfish-knows-all-targets: None|Hdd|BiosSetup{+|CD.DVD+}
src/adapters/provider/redfish/redfish-provider.ts test/adapters/provider/redfish/listing.test.ts -t if a BMC takes too long
  redfish-a-slow-bmc-ends-the-call:
    if (isProviderError(error, 'aborted')[- && !patience.isOver()-]) throw error;
src/adapters/provider/redfish/power.ts test/adapters/provider/redfish/power.test.ts -t 171
  redfish-slow-ones-are-not-put-aside: [-isAside ? aside(() => lookAt(bmc)) : -]
  redfish-slow-ones-are-not-known: GREETING_MS = [-5_000-]{+600_000+}
src/domain/provisioning/reconcile.ts test/adapters/provider/redfish/power.test.ts -t 171
  intake-in-any-order: [- || Number(isRead(b)) - Number(isRead(a))-]
src/adapters/driver-kit/orders.ts test/adapters/driver-kit/entries.test.ts -t adopts other machines while
  intake-one-after-the-other: \`slot \${reservationId[- ?? id-]}\`
src/adapters/provider/redfish/power.ts test/adapters/provider/redfish/power.test.ts -t vector 33
  redfish-on-its-way-is-off: sighting?.power[- === 'Off'-]{+?.endsWith('Off')+}
src/adapters/provider/redfish/client/session.ts test/adapters/provider/redfish/wire.test.ts -t vector 4
  redfish-two-sessions: if (session{+ && lacksSessions+}) return { scheme: 'session'
src/adapters/provider/redfish/client/session.ts test/adapters/provider/redfish/wire.test.ts -t vector 5
  redfish-locks-its-account: [-if (cause && isDenied(cause)) note();-]
src/adapters/provider/redfish/rack.ts test/adapters/provider/redfish/wire.test.ts -t three sessions
  redfish-stays-logged-in: void [-leave(bmc, -]{+(+}isFew ? LOGOUT_MS : CLOSE_MS);
src/adapters/driver-kit/exchange.ts test/adapters/provider/redfish/wire.test.ts -t vector 3
  redfish-any-certificate: sha256 !== undefined[- && shown === plainHex(sha256)-]
src/adapters/provider/redfish/client/bmc.ts test/adapters/provider/redfish/power.test.ts -t shows a BMC as hanging
  redfish-a-hung-bmc-is-asked-for-its-login: if ([-typeof known === 'string-]{+known === '+}') return known;
src/adapters/provider/redfish/rack.ts test/adapters/provider/redfish/power.test.ts -t shows a BMC as hanging
  redfish-a-well-bmc-is-restarted: if (!action[- || !hanging.has(bmc)-])
  redfish-its-reply-is-evidence: {+note(bmc, false);\n      +}return { operationRef: \`\${type}
src/adapters/provider/redfish/rack.ts test/adapters/provider/redfish/power.test.ts -t blames the network
  redfish-the-network-is-restarted: if (isLikelyNetwork([-rack-]{+[]+})) {
src/adapters/provider/redfish/rack.ts test/adapters/provider/redfish/power.test.ts -t if the machine is foreign
  redfish-restart-without-a-look: [-await check()-]{+void check+};
src/adapters/provider/redfish/install/claims.ts test/adapters/provider/redfish/install/tidying.test.ts
  redfish-restarted-under-an-installation: unreadable.has(id)[- || claims.get(id)?.result === null-]
`;
