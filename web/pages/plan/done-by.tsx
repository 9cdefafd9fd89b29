import { texts } from '../../texts.ts';

export interface DoneByProps {
  readonly sessionId: string | null;
  readonly isHere: boolean;
}

/** Which daemon has the job. */
export const DoneBy = ({ sessionId, isHere }: DoneByProps) => (
  <span className="quiet">
    {sessionId === null
      ? texts.providers.nobody
      : isHere
        ? texts.providers.thisDaemon
        : texts.providers.session(sessionId)}
  </span>
);
