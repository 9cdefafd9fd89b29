import { useEffect, useRef, useState } from 'react';

/** Minimum time between two announcements of a screen reader. */
const SPOKEN_EVERY_MS = 5_000;

/** Announces the current text to screen readers, at most once in five seconds. */
export const Spoken = ({ text }: { readonly text: string }) => (
  <p className="spoken" role="status">
    {useSlowly(text)}
  </p>
);

/** The latest text at the time of the last announcement. */
function useSlowly(text: string): string {
  const [spoken, speak] = useState(text);
  const latest = useRef(text);
  latest.current = text;
  useEffect(() => {
    if (text === spoken) return undefined;
    const timer = setTimeout(() => speak(latest.current), SPOKEN_EVERY_MS);
    return () => clearTimeout(timer);
  }, [text === spoken]);
  return spoken;
}
