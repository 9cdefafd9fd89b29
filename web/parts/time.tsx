import { useNow } from '../live/clock.ts';
import { texts } from '../texts.ts';
import { span } from './span.ts';

/** In the zone of the reader; the title has the same in UTC. */
const local = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const utc = (ms: number): string =>
  `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

export interface MomentProps {
  /** Epoch ms of the database's clock. */
  readonly atMs: number;
}

/** How long it has been so: it ticks. */
export const Since = ({ atMs }: MomentProps) => (
  <time dateTime={new Date(atMs).toISOString()} title={utc(atMs)}>
    {span(useNow() - atMs)}
  </time>
);

/** How long ago it was. */
export const Ago = ({ atMs }: MomentProps) => (
  <time dateTime={new Date(atMs).toISOString()} title={utc(atMs)}>
    {texts.ago(span(useNow() - atMs))}
  </time>
);

/** When it was, in the reader's own zone. */
export const Moment = ({ atMs }: MomentProps) => (
  <time dateTime={new Date(atMs).toISOString()} title={utc(atMs)}>
    {local.format(atMs)}
  </time>
);

/** What is left until then, counting down; then that it is due. */
export function Until({ atMs }: MomentProps) {
  const left = atMs - useNow();
  return (
    <time dateTime={new Date(atMs).toISOString()} title={utc(atMs)}>
      {left > 0 ? texts.in(span(left)) : texts.due}
    </time>
  );
}
