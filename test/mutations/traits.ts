import { mistakesIn, type Mutation } from './mutation.ts';

const READING = ['test/commands/remote/reading.test.ts'];
const PG_TEXTS = ['test/adapters/bmdb/pg/contract-reading.test.ts'];
const PG = ['test/adapters/bmdb/pg/contract-slots.test.ts'];

/** The texts that tell machines apart: from their definition to whoever asks for them. */
export const mutations: readonly Mutation[] = [
  ...mistakesIn(
    'src/domain/traits.ts',
    ['test/domain/traits.test.ts'],
    [['a-machine-with-any-trait-matches', 'machine[name] === text', 'machine[name] !== null']],
  ),
  ...mistakesIn(
    'src/domain/view.ts',
    ['test/domain/view.test.ts'],
    [
      [
        'traits-of-a-free-slot-are-unknown',
        'row?.provided?.[name] ?? listed?.[name] ?? null',
        'row?.provided?.[name] ?? null',
      ],
    ],
  ),
  ...mistakesIn(
    'src/domain/provisioning/update.ts',
    ['test/domain/provisioning/update.test.ts'],
    [
      [
        'a-trait-that-is-not-told-yet-can-wait',
        '...TRAIT_NAMES.filter((name) => TRAITS[name].awaited),',
        '',
      ],
    ],
  ),
  ...mistakesIn(
    'src/actors/mirror/facts.ts',
    ['test/actors/mirror'],
    [['another-trait-is-no-news', 'TRAIT_NAMES.every((name) => a[name] === b[name]) &&', '']],
  ),
  ...mistakesIn('src/adapters/bmdb/plain-bmdb.ts', PG_TEXTS, [
    ['what-is-told-is-kept-as-it-came', '[[field, plainTextOr(text)]]', '[[field, text]]'],
  ]),
  ...mistakesIn('src/adapters/bmdb/pg/provisioning/provided.ts', PG, [
    ['what-is-not-told-is-cleared', "CASE WHEN c.told ? '${field}' THEN", 'CASE WHEN true THEN'],
  ]),
  ...mistakesIn(
    'src/adapters/provider/core/entries.ts',
    ['test/adapters/provider/core'],
    [
      [
        'a-trait-may-be-anything',
        '...TRAIT_NAMES.map((name): Field => [name, absentOr(nullOr(like(SHOWN))), NO_TEXT]),',
        '',
      ],
    ],
  ),
  ...mistakesIn(
    'src/domain/filing/selection.ts',
    ['test/commands/machine-verbs.test.ts'],
    [
      ['an-unknown-trait-means-nothing-is-so', '  requireTraits(fleet, selector);\n', ''],
      ['a-trait-alone-says-nothing', ' || wantedTraits(selector).length > 0', ''],
    ],
  ),
  ...mistakesIn('src/commands/remote/machines.ts', READING, [
    [
      'a-list-is-not-narrowed-by-traits',
      '...wantedTraits(flags).map(([trait, name]) => `${trait}:${quoted(name)}`),',
      '',
    ],
  ]),
  ...mistakesIn(
    'src/console/index/matcher.ts',
    ['test/console/api/machines.test.ts'],
    [
      [
        'the-api-is-not-narrowed-by-traits',
        "term.values.includes(view[term.name] ?? '')",
        'term.values.length > 0',
      ],
    ],
  ),
];
