import { splitSentence, type Split } from './traffic-split';
import './split-bar.css';

/** Where users go in one cluster: filled as seen, a line where it should be instead. */
export function SplitBar({ split }: { split: Split }) {
  const shown = split.observed.length > 0 ? split.observed : split.wanted;
  const sentence = splitSentence(split);
  return (
    <span className="split" title={sentence}>
      <svg viewBox="0 0 100 12" preserveAspectRatio="none" className={split.observed.length > 0 ? 'split-bar' : 'split-bar split-unseen'} aria-hidden="true">
        {shown.map((share) => (
          <rect key={share.variant} className={`variant-${share.variant}`} x={share.start} y="0" width={share.weight} height="12" />
        ))}
        {split.differs &&
          split.wanted
            .slice(1)
            .map((share) => <rect key={share.variant} className="split-wanted" x={share.start - 0.5} y="0" width="1" height="12" />)}
      </svg>
      <span aria-hidden="true" className="split-figures">
        {shown.length === 1
          ? `${shown[0]?.variant ?? ''} ${shown[0]?.weight ?? 0}`
          : shown.map((share) => share.weight).join(' ')}
        {split.differs && ' ≠'}
      </span>
      <span className="spoken">{sentence}</span>
    </span>
  );
}
