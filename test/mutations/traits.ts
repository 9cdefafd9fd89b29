import { mutationsOf } from './mutation.ts';

/** The texts that tell machines apart: from their definition to whoever asks for them. */
export const mutations = mutationsOf`
src/domain/traits.ts test/domain/traits.test.ts
  a-machine-with-any-trait-matches: machine[name] [-=== text-]{+!== null+}
src/domain/line-fields.ts test/domain/view.test.ts
  traits-of-a-free-slot-are-unknown: row?.provided?.[name] ?? [-listed?.[name] ?? -]null
src/domain/provisioning/update.ts test/domain/provisioning/update.test.ts
  a-trait-that-is-not-told-yet-can-wait: [-...TRAIT_NAMES.filter((name) => TRAITS[name].awaited),-]
src/actors/mirror/rows.ts test/actors/mirror
  another-trait-is-no-news: [-TRAIT_NAMES.every((name) => a[name] === b[name]) &&-]
src/adapters/bmdb/pg/statement.ts test/adapters/bmdb/pg/contract-reading.test.ts
  what-is-written-is-kept-as-it-came: type.startsWith('text') ? [-plainly(value)-]{+(value ?? null)+}
src/adapters/bmdb/pg/provisioning/provided.ts test/adapters/bmdb/pg/contract-reading.test.ts
  what-is-told-is-kept-as-it-came: [name, [-plainTextOr(text)-]{+text+}]
src/adapters/bmdb/pg/provisioning/provided.ts test/adapters/bmdb/pg/contract-slots.test.ts
  what-is-not-told-is-cleared: CASE WHEN [-c.told ? '\${field}'-]{+true+} THEN
src/adapters/driver-kit/entries.ts test/adapters/driver-kit
  a-trait-may-be-anything: (['plan', 'hostname'[-, ...TRAIT_NAMES-]] as const)
src/domain/submission/selection.ts test/domain/submission/selection.test.ts
  an-unknown-trait-means-nothing-is-so: [-  requireTraits(fleet, selector);\n-]
  a-trait-alone-says-nothing: [- || wantedTraits(selector).length > 0-]
src/commands/remote/machines.ts test/commands/remote/reading.test.ts
  a-list-is-not-narrowed-by-traits:
    [-...wantedTraits(flags).map(([trait, name]) => \`\${trait}:\${quoted(name)}\`),-]
src/console/index/row.ts test/console/api/reading.test.ts
  the-api-is-not-narrowed-by-traits: term.values.[-includes(view[term.name] ?? '')-]{+length > 0+}
`;
