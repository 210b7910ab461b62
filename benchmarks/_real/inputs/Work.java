// SPDX-License-Identifier: BSD-3-Clause
// Work trees|strings: short-lived trees beside one that stays, or tables of strings.
import java.util.HashMap;
import java.util.Map;
import java.util.stream.IntStream;

final class Work {
    private static final class Node {
        private final Node left;
        private final Node right;

        Node(int depth) {
            left = depth == 0 ? null : new Node(depth - 1);
            right = depth == 0 ? null : new Node(depth - 1);
        }

        int count() {
            return left == null ? 1 : 1 + left.count() + right.count();
        }
    }

    private static long trees() {
        Node kept = new Node(17);
        long made = IntStream.range(0, 200).parallel().mapToLong(i -> new Node(14).count()).sum();
        return made + kept.count();
    }

    private static long strings() {
        long total = 0;
        for (int k = 0; k < 2; k++) {
            Map<String, StringBuilder> table = new HashMap<>();
            for (int i = 0; i < 40000; i++) {
                table.computeIfAbsent("key-" + (i * 7919L) % 3001, key -> new StringBuilder()).append(i);
            }
            total += table.values().stream().mapToLong(StringBuilder::length).sum();
        }
        return total;
    }

    public static void main(String[] words) {
        System.out.println(words[0].equals("trees") ? trees() : strings());
    }
}
