import { mistakesIn, type Mutation } from './mutation.ts';

const DRIVER = 'src/adapters/balancer/anexia';
const TESTS = 'test/adapters/balancer/anexia';
const all = [TESTS];

/** The client and driver of the Anexia Engine, and the emulator that judges them. */
export const mutations: readonly Mutation[] = [
  ...mistakesIn(`${DRIVER}/lists.ts`, all, [
    ['engine-pages-end-early', 'page.rows.length === 0', 'page.rows.length < 5'],
    ['engine-total-unheeded', '[...totals].every((total) => total === rows.length)', 'true'],
    ['engine-page-number-unheeded', 'page.number !== undefined && page.number !== number', 'false'],
    ['engine-same-page-for-ever', 'seen.size === sizeBefore', 'number > 500'],
  ]),
  ...mistakesIn(`${DRIVER}/tags.ts`, all, [
    ['engine-tags-side-by-side', "LOCKS.take('tags', signal)", 'LOCKS.take(id, signal)'],
    ['engine-tag-422-an-error', 'if (isStatus(error, 422)) return true;', ''],
    ['engine-tag-tried-twice', 'ATTEMPTS_MAX = 3', 'ATTEMPTS_MAX = 2'],
    ['engine-tag-tried-at-once', 'BETWEEN_MS = 1_000', 'BETWEEN_MS = 1'],
    ['engine-upstreams-objects-ours', "[OURS, 'anxccm-svc-uid=']", '[OURS]'],
  ]),
  ...mistakesIn(`${DRIVER}/engine.ts`, all, [
    ['engine-no-tag-an-error', 'error.status === 422', 'error.status === 421'],
    ['engine-any-error-as-untagged', ' && error.status === 422', ' && true'],
    ['engine-any-page-ends-the-tagged', 'page > 1 || !isEmpty(error)', '!isEmpty(error)'],
    [
      'engine-foreign-rows-taken',
      'if (!stranger) return found;',
      'if (stranger !== null) return found;',
    ],
    ['engine-tag-body-null', "body: '',", 'body: null,'],
    [
      'engine-filters-escaped-once',
      '{ filters: new URLSearchParams(filters).toString() }',
      '{ ...filters }',
    ],
    ['engine-held-account-asked', 'if (retryAt === null) return;', 'if (retryAt !== 0) return;'],
  ]),
  ...mistakesIn(`${DRIVER}/forms.ts`, all, [
    ['engine-missing-state-failed', "?? 'progressing';", "?? 'failed';"],
    ['engine-updating-ready', "0: 'progressing'", "0: 'ready'"],
    ['engine-address-as-written', 'canonicalAddress(told) ?? told', 'told'],
    ['engine-check-unheeded', "isChecked !== 'enabled'", 'false'],
    ['engine-tls-with-a-bind', 'ssl: false', 'ssl: true'],
    ['engine-short-rows-as-full', '(object[field] ?? null) !== null', 'true'],
  ]),
  ...mistakesIn(`${DRIVER}/observation.ts`, all, [
    [
      'engine-backends-of-any-balancer',
      'claims, new Set([loadBalancer]));',
      "claims, { has: (at) => at !== '' } as Set<string>);",
    ],
    [
      'engine-children-without-parents',
      'below, claims, parents);',
      "below, claims, { has: (at) => at !== '' } as Set<string>);",
    ],
  ]),
  ...mistakesIn(`${DRIVER}/reader.ts`, all, [
    ['engine-lagging-creations-unseen', 'memory.fresh(owner.uid)', 'memory.fresh(tag)'],
    [
      'engine-recalls-whenever-it-can',
      'mayRecall ? readings.recall(row.identifier) : null',
      'readings.recall(row.identifier)',
    ],
    ['engine-recalls-what-moved', ' && placeOf(kind, known) === place', ''],
    [
      'engine-memory-tells-what-is-there',
      'if (known && !isOurs(ref.kind, known)) return null;',
      'if (known) return isOurs(ref.kind, known) ? { ref, object: known, tagged } : null;',
    ],
    [
      'engine-elsewhere-asked-again',
      'if (known && !isOurs(ref.kind, known)) return null;',
      'if (known === undefined) return null;',
    ],
    ['engine-doubtful-rows-believed', ' && !readings.isDoubtful(row.object)', ''],
    [
      'engine-others-adopted',
      "whose === null || whose === 'another' ? null",
      'whose === null ? null',
    ],
  ]),
  ...mistakesIn(`${DRIVER}/readings.ts`, all, [
    ['engine-recalls-what-it-changed', '    read.delete(id);\n    serial', '    serial'],
    ['engine-keeps-what-was-being-changed', '(deeds.get(id)?.serial ?? 0) > since', 'false'],
    ['engine-recalls-what-was-not-ready', "isOld || phaseOf(object) !== 'ready'", 'isOld'],
    [
      'engine-new-rows-believed-before-they-are-ready',
      "!deed.isMade || phaseOf(object) !== 'ready'",
      '!deed.isMade',
    ],
    [
      'engine-rows-doubted-for-ever',
      'if (!deed || clock.monotonic() - deed.atMs > LAG_MS) return false;',
      'if (!deed) return false;',
    ],
  ]),
  ...mistakesIn(`${DRIVER}/creation.ts`, all, [
    ['engine-lost-reply-forgotten', 'memory.unanswered(place);', ''],
    ['engine-unsettled-made-again', 'if (memory.isUnsettled(place)) {', 'if (owner.uid === tag) {'],
    ['engine-others-taken', "whose === null || whose === 'another'", 'whose === null'],
    ['engine-not-looked-for', 'made || memory.mayBeThere(place)', 'made'],
    ['engine-never-tagged', 'if (found?.tagged !== true) {', 'if (found?.tagged === false) {'],
  ]),
  ...mistakesIn(`${DRIVER}/throttle.ts`, all, [
    ['engine-wait-of-a-minute-always', ' * 2 ** unasked++', ''],
    ['engine-wait-without-end', 'Math.min(UNASKED_MAX_MS, ', 'Math.max(0, '],
    ['engine-answers-unheeded', 'if (heldMs() === 0) unasked = 0;', ''],
    ['engine-accounts-apart', '`${baseUrl} ${tokenReference}`', '`${baseUrl} ${Math.random()}`'],
    ['engine-accounts-as-one', '`${baseUrl} ${tokenReference}`', 'baseUrl'],
  ]),
  ...mistakesIn(`${DRIVER}/anexia-balancer.ts`, all, [
    ['engine-balancer-not-looked-for', 'if (isKnown) return;', 'if (!isKnown) return;'],
    ['engine-update-without-state', "identifier: id, state: '0'", 'identifier: id'],
    ['engine-gone-is-progressing', "object === null ? 'failed'", "object === null ? 'progressing'"],
    [
      'engine-adopts-what-is-anothers',
      "if (whose === 'another') throw",
      "if (whose === 'us') throw",
    ],
  ]),
  ...mistakesIn(`${DRIVER}/api.ts`, all, [
    ['engine-any-404-is-absence', 'tellsAbsence: new Set([404])', 'tellsAbsence: new Set()'],
    ['engine-untyped-not-json', 'untypedIsJson: true', 'untypedIsJson: false'],
    ['engine-fields-untold', '...fields.map(([field, told]) => `${field}: ${textOf(told)}`),', ''],
  ]),
  ...mistakesIn(
    'src/simulator/fakengine/object-routes.ts',
    ['test/simulator/fakengine'],
    [
      ['fakengine-bare-filters-taken', '!isBare &&', ''],
      [
        'fakengine-destroys-what-is-used',
        'knobs.blockedStatus > 0 && isReferred',
        'knobs.blockedStatus > 999 && isReferred',
      ],
      ['fakengine-state-need-not-be-0', "state !== '0'", 'false'],
    ],
  ),
  ...mistakesIn(
    'src/simulator/fakengine/resource-routes.ts',
    ['test/simulator/fakengine'],
    [
      ['fakengine-tags-side-by-side', 'if (tagging > 0) {', 'if (tagging > 9) {'],
      ['fakengine-null-as-tag-body', "if (body !== '') throw", 'if (body === undefined) throw'],
      ['fakengine-unknown-tag-is-empty', 'tag !== undefined && found.length === 0', 'false'],
    ],
  ),
];
