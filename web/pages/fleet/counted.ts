import {
  headlineOf,
  SHARE_WORDS,
  type Headline,
  type ShareWord,
} from '../../../src/domain/headline.ts';
import type { Cells } from '../../api/types.ts';

export interface Counted {
  readonly key: string;
  readonly headline: Headline;
}

/** Counts machines by a key, in the order of the keys. */
export const countedBy = (
  cells: Cells,
  keyOf: (cell: Cells[number]) => string,
): readonly Counted[] =>
  [...Map.groupBy(cells, keyOf)]
    .map(([key, those]) => ({ key, headline: headlineOf(those) }))
    .toSorted((a, b) => a.key.localeCompare(b.key));

/** The words that occur in the counts, in the order of the headline. */
export const wordsIn = (rows: readonly Counted[]): readonly ShareWord[] =>
  SHARE_WORDS.filter((word) =>
    rows.some(({ headline }) => headline.shares.some((share) => share.word === word)),
  );
