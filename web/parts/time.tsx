import { useNow } from '../live/clock.ts';
import { texts } from '../texts.ts';
import { span } from './span.ts';

/** In the time zone of the reader. The title shows UTC. */
const local = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const utc = (ms: number): string =>
  `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

export interface MomentProps {
  /** Epoch ms of the database's clock. */
  readonly atMs: number;
}

/** The time since a moment. It ticks. */
export const Since = ({ atMs }: MomentProps) => (
  <time dateTime={new Date(atMs).toISOString()} title={utc(atMs)}>
    {span(useNow() - atMs)}
  </time>
);

/** How long ago the moment was. */
export const Ago = ({ atMs }: MomentProps) => (
  <time dateTime={new Date(atMs).toISOString()} title={utc(atMs)}>
    {texts.ago(span(useNow() - atMs))}
  </time>
);

/** The moment in the time zone of the reader. */
export const Moment = ({ atMs }: MomentProps) => (
  <time dateTime={new Date(atMs).toISOString()} title={utc(atMs)}>
    {local.format(atMs)}
  </time>
);

/** The time left until something begins; nothing once it began. */
export const Begin = ({ atMs }: MomentProps) =>
  atMs > useNow() && (
    <>
      {texts.machine.begins} <Until atMs={atMs} />,{' '}
    </>
  );

/** The time left until the moment, counting down, or that the moment has come. */
export function Until({ atMs }: MomentProps) {
  const left = atMs - useNow();
  return (
    <time dateTime={new Date(atMs).toISOString()} title={utc(atMs)}>
      {left > 0 ? texts.in(span(left)) : texts.due}
    </time>
  );
}
