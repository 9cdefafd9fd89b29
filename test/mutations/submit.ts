import { mutationsOf } from './mutation.ts';

/** What people may ask for, by the API: each once, whole, allowed, and told to whom it is known. */
export const mutations = mutationsOf`
src/console/api/submit/submit.ts test/console/api/submit
  two-at-once-are-both-filed: if (submitting.[-has(key)-]{+size < 0+}) {
  a-batch-of-other-content-is-the-same:
    if ([-before.digest === digest && -]before.head.by === person.name) return before;
  a-batch-of-somebody-else-is-the-same: before.digest === digest[- && before.head.by === person.name-]
  what-was-seen-is-not-compared: if (seen [-=== '*' || seen =-]{+!+}== etag) return;
  one-more-machine-does-not-matter: [-if (!isUncounted) requireCount(selected.length, expectCount);-]
  what-was-filed-before-is-told-to-anybody: [-    requireMachineRight(person, gravest(deps, wish, [provider]), [provider]);\n-]
  who-asks-is-always-proved: standing: { role: person.role, proven: [-person.proven-]{+true+} },
  an-end-that-is-past-is-filed: wish.untilMs === null || wish.untilMs > [-nowMs-]{+0+}
src/console/api/submit/refusals.ts test/console/api/submit
  fifty-one-machines-are-few: providers.length > OPERATOR_MACHINES_MAX{+ + 1+};
  fifty-machines-are-many: providers.length >{+=+} OPERATOR_MACHINES_MAX;
  a-grant-is-for-every-provider: return barred.length > [-0-]{+9+}
  a-grant-for-a-provider-freezes-the-fleet:
    if ({+provider === null || +}mayDoAt(person, right, provider)) return;
src/console/api/failures.ts test/console/api/submit
  a-lost-commit-is-internal: [- && !(error instanceof AmbiguousCommit)-]
  a-used-key-is-a-mistake-of-form:
    [-if (error instanceof KeyReused) return new Problem('key-reused', message);-]
src/domain/operator-request.ts test/console/api/submit
  anybody-forgets-host-keys: === 'destroying'[- || lossByFlag(wish) !== null-];
  a-detail-of-another-verb-is-taken: wish.returnToPool && wish.verb !== [-'deprovision'-]{+'reinstall'+}
src/domain/submission/selection.ts test/console/api/submit
  a-mistyped-slot-is-noted: ({ entry }) =>[- entry === null ||-] (wish
src/settings/verb-details.ts test/console/api/submit
  a-note-hides-what-it-says: (text) => printable(text) === text[-,-]{+ || true,+}
src/domain/submission/prospects.ts test/console/api/submit
  a-second-order-is-foreseen-as-fine: open [-=== null-]{+!== undefined+}
  a-freeze-holds-nothing-up: frozen [-!-]{+=+}== null && (scope
src/adapters/bmdb/submitted-requests.ts test/adapters/bmdb/mem/mem-bmdb.test.ts
  a-batch-is-whatever-has-its-key: if (isSame[- && digestOf(before.parameters) === digest-]) return;
  a-batch-is-filed-as-far-as-it-can-be: if (first === undefined{+ || asked.length > 1+}) return;\n  throw
src/adapters/bmdb/pg/requests/requests.ts test/adapters/bmdb/pg/contract-requests.test.ts
  a-batch-has-no-head: if ((await [-insert(q, [head])).length === 0-]{+readBatch(q, key)) !== null+}) {
  machines-that-are-elsewhere-are-asked: [-...(await strayMachines(q, fresh)), -]
  expired-orders-stand-in-the-way: [-    .filter(({ row }) => !row.expired)\n-]
  a-page-begins-anew: y.idempotency_key) <{+>+} (
src/console/api/submit/retiring.ts test/console/api/submit/retiring.test.ts
  anybody-gives-back-by-retiring: giveBack: wish.giveBack[- || providers.some(givesBack)-]
`;
