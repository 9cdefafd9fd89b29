import { mistakesNamed, type Mutation } from './mutation.ts';

const DRIVER = 'src/adapters/provider/redfish';
const TESTS = 'test/adapters/provider/redfish';
const at = (file: string, test: string) => ({
  file: `${DRIVER}/${file}`,
  tests: [`${TESTS}/${test}.test.ts`],
});

/** Machines behind BMCs: whose they are, what is sent, and what is believed of it. */
export const mutations: readonly Mutation[] = [
  ...mistakesNamed(at('identity.ts', 'reboot'), [
    'redfish-anybodys-blade',
    'if (wrong) {',
    "if (wrong && entry.bmc === '') {",
    'vector 16',
  ]),
  ...mistakesNamed(at('identity.ts', 'identity'), [
    'redfish-a-product-number-is-a-serial',
    "/dell/i.test(manufacturer ?? '') ? sku : null",
    'manufacturer === null ? null : sku',
    'product number',
  ]),
  ...mistakesNamed(at('client/system.ts', 'listing'), [
    'redfish-gone-though-listed',
    'if (!isBelieved || (await isListed(wire, named))) {',
    'if (!isBelieved) {',
    'the collection lists',
  ]),
  ...mistakesNamed(at('client/errors.ts', 'reboot'), [
    'redfish-a-part-is-the-machine',
    "if (isAbsence(refusal)) return changing ? 'transient' : 'not-implemented';",
    "if (isAbsence(refusal)) return 'not-found';",
    'no machine that is gone',
  ]),
  ...mistakesNamed(
    at('changes.ts', 'reboot'),
    [
      'redfish-foreign-is-rebooted',
      'call.requireOurs(see(entry, system));',
      'if (call) see(entry, system);',
      'vector 28',
    ],
    [
      'redfish-override-is-left',
      'bootsDisk(want) ? await',
      'bootsDisk(want) && !call ? await',
      'vector 17',
    ],
    [
      'redfish-lost-answer-is-a-refusal',
      "if (error.outcome === 'unknown') {",
      "if (error.outcome === 'unknown' && sent.type === '') {",
      'vector 15',
    ],
    [
      'redfish-unknown-is-not-told',
      "became of ${sent.type}`, {\n      cause: error,\n      outcome: 'unknown',",
      'became of ${sent.type}`, {\n      cause: error,',
      'vector 15',
    ],
    [
      'redfish-orders-overtake',
      'const earlier = unproved(entry, found);',
      'const earlier = null as Sent | null;',
      'does not overtake',
    ],
  ),
  ...mistakesNamed(
    at('boot-override.ts', 'reboot'),
    [
      'redfish-reboots-into-what-stays',
      'throw stays(left, reason);',
      'if (reason !== undefined) throw stays(left, reason);\n  return now;',
      'changes nothing',
    ],
    [
      'redfish-reboots-into-what-is-not-cleared',
      'throw stays(left, reason);',
      'if (reason === undefined) throw stays(left, reason);\n  return now;',
      'is refused',
    ],
    ['redfish-clears-in-one-way', "    whole('Hdd', 'Once'),\n", '', 'sushy-tools'],
    [
      'redfish-settings-are-not-read',
      'return pending && leadsElsewhere(pending.boot) ? pending.boot : null;',
      'return pending && pending.boot.target === null ? pending.boot : null;',
      'only the settings',
    ],
  ),
  ...mistakesNamed(at('boot-override.ts', 'boot-override'), [
    'redfish-knows-all-targets',
    'None|Hdd|BiosSetup',
    'None|Hdd|BiosSetup|CD.DVD',
    'Supermicro',
  ]),
  ...mistakesNamed(at('redfish-provider.ts', 'listing'), [
    'redfish-a-slow-bmc-ends-the-call',
    "if (isProviderError(error, 'aborted') && !patience.isOver()) throw error;",
    "if (isProviderError(error, 'aborted')) throw error;",
    'longer than the call may',
  ]),
  ...mistakesNamed(
    at('power-poll.ts', 'slow-bmcs'),
    ['redfish-slow-ones-are-not-put-aside', 'isAside ? aside(() => lookAt(bmc)) : ', '', '171'],
    ['redfish-slow-ones-are-not-known', 'GREETING_MS = 5_000', 'GREETING_MS = 600_000', '171'],
  ),
  ...mistakesNamed(
    { file: 'src/domain/provisioning/reconcile.ts', tests: [`${TESTS}/slow-bmcs.test.ts`] },
    ['intake-in-any-order', ' || Number(isRead(b)) - Number(isRead(a))', '', '171'],
  ),
  ...mistakesNamed(
    {
      file: 'src/adapters/provider/core/orders.ts',
      tests: ['test/adapters/provider/core/inventory.test.ts'],
    },
    [
      'intake-one-after-the-other',
      '`slot ${reservationId ?? id}`',
      '`slot ${reservationId}`',
      'keeps no other',
    ],
  ),
  ...mistakesNamed(at('machine-view.ts', 'power'), [
    'redfish-on-its-way-is-off',
    "sighting?.power === 'Off'",
    "sighting?.power?.endsWith('Off')",
    'vector 33',
  ]),
  ...mistakesNamed(
    at('client/session.ts', 'login'),
    [
      'redfish-two-sessions',
      "if (session) return { scheme: 'session'",
      "if (session && lacksSessions) return { scheme: 'session'",
      'vector 4',
    ],
    ['redfish-locks-its-account', 'if (cause && isDenied(cause)) note();', '', 'vector 5'],
  ),
  ...mistakesNamed(at('rack.ts', 'login'), [
    'redfish-stays-logged-in',
    'void leave(bmc, isFew ? LOGOUT_MS : CLOSE_MS);',
    'void (isFew ? LOGOUT_MS : CLOSE_MS);',
    'three sessions',
  ]),
  ...mistakesNamed({ file: 'src/adapters/http/trust.ts', tests: [`${TESTS}/login.test.ts`] }, [
    'redfish-any-certificate',
    'sha256 !== undefined && shown === plainHex(sha256)',
    'sha256 !== undefined',
    'vector 3',
  ]),
  ...mistakesNamed(at('client/bmc.ts', 'bmc-care'), [
    'redfish-a-hung-bmc-is-asked-for-its-login',
    "if (typeof known === 'string') return known;",
    "if (known === '') return known;",
    'one that hangs is shown',
  ]),
  ...mistakesNamed(
    at('bmc-care.ts', 'bmc-care'),
    [
      'redfish-a-well-bmc-is-restarted',
      'if (!action || !hanging.has(bmc))',
      'if (!action)',
      'one that hangs is shown',
    ],
    [
      'redfish-the-network-is-restarted',
      'if (isLikelyNetwork(rack)) {',
      'if (isLikelyNetwork([])) {',
      'begin to answer nothing',
    ],
    ['redfish-restart-without-a-look', 'await check();', 'void check;', 'not ours'],
    [
      'redfish-its-reply-is-evidence',
      'return { operationRef: `${type}',
      'note(bmc, false);\n      return { operationRef: `${type}',
      'one that hangs is shown',
    ],
  ),
  ...mistakesNamed(at('install/claims.ts', 'install/hung-bmc'), [
    'redfish-restarted-under-an-installation',
    'unreadable.has(id) || claims.get(id)?.result === null',
    'unreadable.has(id)',
  ]),
];
