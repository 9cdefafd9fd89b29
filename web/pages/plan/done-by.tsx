import { texts } from '../../texts.ts';

export interface DoneByProps {
  readonly sessionId: string | null;
  readonly isHere: boolean;
}

/** The daemon that does this job. */
export const DoneBy = ({ sessionId, isHere }: DoneByProps) => (
  <span className="quiet">
    {sessionId === null
      ? texts.providers.nobody
      : isHere
        ? texts.providers.thisDaemon
        : texts.providers.session(sessionId)}
  </span>
);
