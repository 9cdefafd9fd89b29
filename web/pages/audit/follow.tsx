import { texts } from '../../texts.ts';
import type { TrailProps } from './search.ts';

/** The switch that polls for new entries. */
export const Follow = ({ search, change }: TrailProps) => (
  <label className="check">
    <input
      type="checkbox"
      checked={search.follow === 'on'}
      onChange={({ target }) => change({ follow: target.checked ? 'on' : '' })}
    />
    {texts.audit.follow}
  </label>
);
