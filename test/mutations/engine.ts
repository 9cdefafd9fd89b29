import { mutationsOf } from './mutation.ts';

/** The client and driver of the Anexia Engine, and the emulator that judges them. */
export const mutations = mutationsOf`
src/adapters/balancer/anexia/engine.ts test/adapters/balancer/anexia
  engine-pages-end-early: page.rows.length [-=== 0-]{+< 5+}
  engine-total-unheeded: [-[...totals].every((total) => total === rows.length)-]{+true+}
  engine-page-number-unheeded: [-page.number !== undefined && page.number !== number-]{+false+}
  engine-same-page-for-ever: [-seen.size === sizeBefore-]{+number > 500+}
  engine-tags-side-by-side: LOCKS.take([-'tags'-]{+id+}, signal)
  engine-tag-422-an-error: [-if (isStatus(error, 422)) return true;-]
  engine-tag-tried-twice: ATTEMPTS_MAX = [-3-]{+2+}
  engine-tag-tried-at-once: BETWEEN_MS = [-1_000-]{+1+}
  engine-upstreams-objects-ours: [OURS[-, 'anxccm-svc-uid='-]]
  engine-no-tag-an-error: boolean => isStatus(error, [-422-]{+421+});
  engine-any-error-as-untagged: boolean => [-isStatus(error, 422)-]{+isProviderError(error)+};
  engine-any-page-ends-the-tagged: [-page > 1 || -]!isEmpty(error)
  engine-foreign-rows-taken: if ([-!stranger-]{+stranger !== null+}) return found;
  engine-tag-body-null: body: [-''-]{+null+},
  engine-filters-escaped-once: { [-filters: new URLSearchParams(filters).toString()-]{+...filters+} }
  engine-held-account-asked: if (retryAtMs [-=== null-]{+!== 0+}) return;
  engine-wait-of-a-minute-always: [- * 2 ** unasked++-]
  engine-wait-without-end: Math.[-min(UNASKED_MAX_MS-]{+max(0+},\_
  engine-answers-unheeded: [-if (heldMs() === 0) unasked = 0;-]
  engine-accounts-apart: \`\${baseUrl} \${[-tokenReference-]{+Math.random()+}}\`
  engine-accounts-as-one: [-\`\${baseUrl} \${tokenReference}\`-]{+baseUrl+}
src/adapters/balancer/anexia/forms.ts test/adapters/balancer/anexia
  engine-missing-state-failed: ?? '[-progressing-]{+failed+}';
  engine-updating-ready: 0: '[-progressing-]{+ready+}'
  engine-address-as-written: [-canonicalAddress(told) ?? -]told
  engine-check-unheeded: [-isChecked !== 'enabled'-]{+false+}
  engine-tls-with-a-bind: ssl: [-false-]{+true+}
  engine-short-rows-as-full: [-(object[field] ?? null) !== null-]{+true+}
  engine-recalls-what-it-changed: \_\_\_\_[-read.delete(id);\n    -]serial
  engine-keeps-what-was-being-changed: [-(deeds.get(id)?.serial ?? 0) > since-]{+false+}
  engine-recalls-what-was-not-ready: isOld[- || phaseOf(object) !== 'ready'-]
  engine-new-rows-believed-before-they-are-ready: !deed.isMade[- || phaseOf(object) !== 'ready'-]
  engine-rows-doubted-for-ever: if (!deed[- || clock.monotonic() - deed.atMs > LAG_MS-]) return false;
src/adapters/balancer/anexia/reader.ts test/adapters/balancer/anexia
  engine-backends-of-any-balancer:
    claims, [-new Set([loadBalancer])-]{+{ has: (at) => at !== '' } as Set<string>+});
  engine-children-without-parents: below, claims, [-parents-]{+{ has: (at) => at !== '' } as Set<string>+});
  engine-lagging-creations-unseen: memory.fresh([-owner.uid-]{+tag+})
  engine-recalls-whenever-it-can:
    [-mayRecall ? readings.recall(row.identifier) : null-]{+readings.recall(row.identifier)+}
  engine-recalls-what-moved: [- && placeOf(kind, known) === place-]
  engine-memory-tells-what-is-there:
    if (known[- && !-]{+) return +}isOurs(ref.kind, known)[-) return -]{+ ? { ref, object: known, tagged } : +}null;
  engine-elsewhere-asked-again: if (known [-&& !isOurs(ref.kind, known)-]{+=== undefined+}) return null;
  engine-doubtful-rows-believed: [- && !readings.isDoubtful(row.object)-]
  engine-others-adopted: whose === null [-|| whose === 'another' -]? null
src/adapters/balancer/anexia/creation.ts test/adapters/balancer/anexia
  engine-lost-reply-forgotten: [-memory.unanswered(place);-]
  engine-unsettled-made-again: if ([-memory.isUnsettled(place)-]{+owner.uid === tag+}) {
  engine-others-taken: whose === null[- || whose === 'another'-]
  engine-not-looked-for: made[- || memory.mayBeThere(place)-]
  engine-never-tagged: if (found?.tagged [-!== true-]{+=== false+}) {
src/adapters/balancer/anexia/driver.ts test/adapters/balancer/anexia
  engine-balancer-not-looked-for: if ({+!+}isKnown) return;
  engine-update-without-state: identifier: id[-, state: '0'-]
  engine-gone-is-progressing: object === null ? '[-failed-]{+progressing+}'
  engine-adopts-what-is-anothers: if (whose === '[-another-]{+us+}') throw
src/adapters/balancer/anexia/api.ts test/adapters/balancer/anexia
  engine-any-404-is-absence: tellsAbsence: new Set([-[404]-])
  engine-untyped-not-json: untypedIsJson: [-true-]{+false+}
  engine-fields-untold: [-...fields.map(([field, told]) => \`\${field}: \${textOf(told)}\`),-]
emulators/anexia/object-routes.ts test/emulators/anexia
  anexia-bare-filters-taken: [-!isBare &&-]
  anexia-destroys-what-is-used: knobs.blockedStatus > [-0-]{+999+} && isReferred
  anexia-state-need-not-be-0: [-state !== '0'-]{+false+}
emulators/anexia/resource-routes.ts test/emulators/anexia
  anexia-tags-side-by-side: if (tagging > [-0-]{+9+}) {
  anexia-null-as-tag-body: if (body [-!== ''-]{+=== undefined+}) throw
  anexia-unknown-tag-is-empty: [-tag !== undefined && found.length === 0-]{+false+}
`;
