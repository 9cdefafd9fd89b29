import { VERB_NAMES } from '../../../src/domain/verbs.ts';
import type { Query } from '../../api/ask.ts';
import { TypedText } from '../../parts/typed-text.tsx';
import { texts } from '../../texts.ts';
import { Download } from './download.tsx';
import { Follow } from './follow.tsx';
import type { TrailProps } from './search.ts';

/** Filters of the requests, the switch to follow, and the download. */
export function RequestFilters({
  search,
  change,
  filter,
}: TrailProps & { readonly filter: Query }) {
  const choice = (name: 'verb' | 'state' | 'since', options: readonly (readonly string[])[]) => (
    <select
      value={search[name] ?? ''}
      aria-label={texts.audit[name]}
      onChange={({ target }) => change({ [name]: target.value })}
    >
      {options.map(([value = '', label = value]) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  );
  return (
    <div className="filters" role="search" aria-label={texts.audit.filters}>
      {choice('verb', [['', texts.audit.anyVerb], ...VERB_NAMES.map((verb) => [verb])])}
      {choice('state', [['', texts.audit.anyState], ['open'], ['done'], ['refused']])}
      {choice('since', Object.entries(texts.audit.spans))}
      <TypedText
        id="filter"
        text={search.by ?? ''}
        set={(by) => change({ by })}
        placeholder={texts.audit.byHint}
        aria-label={texts.audit.by}
      />
      <TypedText
        text={search.slot ?? ''}
        set={(slot) => change({ slot })}
        placeholder={texts.audit.slotHint}
        aria-label={texts.audit.slot}
      />
      <Follow search={search} change={change} />
      <Download of="requests" query={filter} />
    </div>
  );
}
