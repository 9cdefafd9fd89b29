import type { SessionLine } from '../api/resources.ts';

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** The address of a console. It is a link, unless it is a loopback address of another host. */
export function ConsoleLink({ consoleUrl, isSelf }: Pick<SessionLine, 'consoleUrl' | 'isSelf'>) {
  const url = consoleUrl !== null && URL.canParse(consoleUrl) ? new URL(consoleUrl) : null;
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:';
  const isNear = url !== null && (!LOOPBACK.test(url.hostname) || LOOPBACK.test(location.hostname));
  if (url === null || !isWeb || !isNear || isSelf) {
    return <span className="mono">{consoleUrl}</span>;
  }
  return (
    <a href={url.href} className="mono" rel="noopener">
      {consoleUrl}
    </a>
  );
}
