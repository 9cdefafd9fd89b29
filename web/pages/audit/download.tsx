import { addressOf, type Query } from '../../api/ask.ts';
import { texts } from '../../texts.ts';

/** Downloads the matching entries. */
export const Download = ({ of, query }: { readonly of: string; readonly query: Query }) => (
  <a
    className="button"
    href={addressOf([of], { ...query, format: 'ndjson' })}
    download
    aria-label={texts.audit.downloadOf}
  >
    {texts.audit.download}
  </a>
);
