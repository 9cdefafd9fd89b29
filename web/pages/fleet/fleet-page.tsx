import { useQuery } from '@tanstack/react-query';
import { about } from '../../api/resources.ts';
import { useView } from '../../live/connection.ts';
import { frame } from '../../live/model.ts';
import { useStore } from '../../live/store.ts';
import { Notice } from '../../parts/panel.tsx';
import { texts } from '../../texts.ts';
import { GuardPanel } from './guard-panel.tsx';
import { Headline } from './headline.tsx';
import { LastHour } from './last-hour.tsx';
import { Matrix } from './matrix.tsx';
import { NeedsYou } from './needs-you.tsx';
import { ProviderStrip } from './provider-strip.tsx';
import { Rolls } from './rolls.tsx';

export function FleetPage() {
  useView({ view: 'fleet' });
  const told = useStore(frame);
  const { mayEraseDisks = [] } = useQuery(about).data ?? {};
  if (told === null) return <p className="waiting">{texts.link.waiting}</p>;
  const { unlisted, counts, headline, total, needHuman, status, guard, budget, cells = [] } = told;
  return (
    <div className="fleet">
      <h1 className="spoken">{texts.pages.fleet}</h1>
      {mayEraseDisks.length > 0 && (
        <Notice tone="warn">{texts.fleet.erasing(mayEraseDisks.join(', '))}</Notice>
      )}
      <Headline counts={counts} headline={headline} />
      {total === 0 ? (
        <Notice tone="quiet" title={texts.fleet.empty}>
          <p>{texts.fleet.emptyWhy}</p>
        </Notice>
      ) : (
        <div className="halves">
          <NeedsYou count={needHuman} status={status} guard={guard} />
          <GuardPanel guard={guard} budget={budget} />
          <Rolls />
          <Matrix cells={cells} />
          <ProviderStrip cells={cells} unlisted={unlisted} />
          <LastHour />
        </div>
      )}
    </div>
  );
}
